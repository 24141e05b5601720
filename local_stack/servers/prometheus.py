"""A real Prometheus in a temporary folder, which scrapes what it is given, and its tool for rules.

Debian's package `prometheus` has both programs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from local_stack.errors import SetupError
from local_stack.servers.services import LOOPBACK, RunFolder

PACKAGE = "prometheus"
START_SECONDS = 120.0


def find_program(name: str) -> str:
    """The path of ``prometheus`` or ``promtool``; SetupError when it is not installed."""
    if not (found := shutil.which(name)):
        raise SetupError(f"no {name} on this machine; install it: apt-get install {PACKAGE}")
    return found


def run_promtool(*arguments: str, folder: Path, text: str | None = None) -> str:
    """What promtool says, run in a folder; SetupError with its words when it finds something wrong."""
    command = [find_program("promtool"), *arguments]
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"promtool {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout + done.stderr


class Prometheus:
    """A server that answers queries on a port of the loopback interface."""

    def __init__(self, port: int) -> None:
        self._base = f"http://{LOOPBACK}:{port}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now, each with its labels and its value."""
        with urlopen(f"{self._base}/api/v1/query?{urlencode({'query': expression})}", timeout=60) as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return result

    def alerts(self) -> list[dict[str, Any]]:
        """The alerts that are pending or firing."""
        with urlopen(f"{self._base}/api/v1/alerts", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["alerts"]
            return found

    def is_ready(self) -> bool:
        """True when it answers."""
        try:
            with urlopen(f"{self._base}/-/ready", timeout=10) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


def start_prometheus(folder: RunFolder, port: int, *, targets: Sequence[str], rules: Path) -> Prometheus:
    """Start it in the folder, and wait until it answers: it scrapes the targets and evaluates the rules each second.

    Raises:
        SetupError: it is not installed, or does not answer in time.
    """
    configuration = {
        "global": {"evaluation_interval": "1s"},
        "scrape_configs": [
            {
                "job_name": "lakehouse",
                "scrape_interval": "5s",
                "scrape_timeout": "5s",
                "static_configs": [{"targets": list(targets)}],
            }
        ],
        "rule_files": [str(rules)],
    }
    file = folder.path / "prometheus.yml"
    file.write_text(json.dumps(configuration), encoding="utf-8")
    command = [find_program("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={folder.path / 'data'}"]
    service = folder.start(
        "prometheus",
        [*command, f"--web.listen-address={LOOPBACK}:{port}"],
        environment=os.environ,
        port=port,
        cwd=folder.path,
    )
    server, deadline = Prometheus(port), time.monotonic() + START_SECONDS
    while not server.is_ready():
        if not service.is_alive or time.monotonic() > deadline:
            raise SetupError(f"prometheus does not answer: {service.tail()}")
        time.sleep(0.1)
    return server
