"""`up` starts Spark Connect and Airflow and leaves them running; `down` stops them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from local_stack.console import say
from local_stack.demos.demo_data import TOPIC, generate
from local_stack.servers.airflow_home import USER, AirflowHome
from local_stack.servers.services import RunFolder, run_path
from local_stack.servers.stack import Stack
from spark_jobs.contracts.settings import Settings

INGEST_CRON = "*/5 * * * *"
FIRST_EVENTS = 10_000


def run(argv: list[str]) -> int:
    """``up`` or ``down``; both may be called again."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack", description=__doc__)
    parser.add_argument("direction", choices=("up", "down"))
    folder = run_path(os.environ) / "up"
    return _up(folder, os.environ) if parser.parse_args(argv).direction == "up" else _down(folder)


def _up(path: Path, environ: Mapping[str, str]) -> int:
    """Start what does not run; print address and login on standard output."""
    folder = RunFolder(path)
    if folder.find("scheduler") and folder.find("api-server"):
        _print_login(AirflowHome(folder, environ=environ), says="runs already")
        return 0
    folder.stop_all()
    environ = {name: value for name, value in environ.items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    settings = Settings.from_environment(environ)
    if _is_empty(settings.landing_path):
        say(f"up: the landing zone {settings.landing_path} is empty; putting {FIRST_EVENTS:,} generated events there")
        generate(["--events", str(FIRST_EVENTS), "--topic", TOPIC], environ)
    say("up: starting Spark Connect and Airflow (about half a minute)")
    stack = Stack(path, environ=environ)
    with stack.folder.stopping(on_success=False):
        stack.start(ingest_cron=INGEST_CRON, with_triggerer=True)
    say(f"up: lake {settings.base_path}, landing zone {settings.landing_path}, logs {path / 'logs'}")
    say(f"up: jobs by hand: LAKEHOUSE_SPARK_REMOTE={stack.spark_remote} .venv/bin/python -m spark_jobs.entrypoint -h")
    _print_login(stack.airflow, says="is ready")
    return 0


def _down(path: Path) -> int:
    stopped = RunFolder(path).stop_all() if path.exists() else []
    say(f"down: stopped {', '.join(stopped)}" if stopped else "down: nothing was running")
    return 0


def _print_login(airflow: AirflowHome, *, says: str) -> None:
    login = f"user {USER}, password {airflow.secrets.password}"
    lines = (
        f"Airflow {says} at {airflow.url}",
        f"  {login}",
        f"  the lake as it is   {airflow.url}/lakehouse/",
        "  pictures of it      .venv/bin/lakehouse report --output data/report.html --overwrite",
        "  make down stops it",
    )
    print("\n".join(lines), flush=True)


def _is_empty(landing_path: str) -> bool:
    folder = Path(landing_path)
    return "://" not in landing_path and not (folder.is_dir() and any(folder.iterdir()))
