"""The command line as a person or Airflow uses it: a process of its own, in a process group of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.entrypoint import main
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.lake_names import make_lake, make_landing


def start(*arguments: str, environment: Mapping[str, str], log: Path | None = None) -> subprocess.Popen[str]:
    """Start ``python -m spark_jobs.entrypoint`` with these variables and none of the caller's LAKEHOUSE_ ones."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("LAKEHOUSE_") or k == "LAKEHOUSE_JARS_PATH"}
    errors = log.open("w") if log else subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-m", "spark_jobs.entrypoint", *arguments],
        cwd=PROJECT_ROOT,
        env={**inherited, "LAKEHOUSE_DRIVER_MEMORY": "1g", **environment},
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    if not isinstance(errors, int):
        errors.close()
    return process


def run(*arguments: str, environment: Mapping[str, str]) -> tuple[int, str, list[str]]:
    """Exit code, standard output, lines of standard error."""
    with start(*arguments, environment=environment) as process:
        output, errors = process.communicate()
        return process.returncode, output, errors.splitlines()


def make_lake_at(folder: Path, **settings: str) -> dict[str, str]:
    """Variables of a new lake and its landing folder below ``folder``, as ``init`` makes them."""
    places = {"LAKEHOUSE_BASE_PATH": str(folder / "lake"), "LAKEHOUSE_LANDING_PATH": str(folder / "landing")}
    environment = {**places, **{f"LAKEHOUSE_{name}": value for name, value in settings.items()}}
    init(environment)
    return environment


def init(environment: Mapping[str, str]) -> None:
    """Make the lake of these variables and its landing folder, where they are not there."""
    settings = Settings.from_environment(environment)
    make_lake(load_lake_spec(settings.lake_spec).lake, settings, may_adopt=True)
    make_landing(settings)


def end(words: Sequence[str]) -> int:
    """The exit code of the command line in this process, also where its parser gives up."""
    try:
        return main(words)
    except SystemExit as error:
        return int(error.code or 0)


def run_well(*arguments: str, environment: Mapping[str, str]) -> JobResult:
    """The result of a run that must end well."""
    code, output, errors = run(*arguments, environment=environment)
    assert code == 0, "\n".join(errors)
    return JobResult.from_json(output.splitlines()[-1])
