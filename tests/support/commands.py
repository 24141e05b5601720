"""The command line as a person or Airflow uses it: a process of its own, in a process group of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.entrypoint import main


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
