"""A job of the platform run from here, as from a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_stack.errors import SetupError, find_reason
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.results import JobResult


def run_job(words: Sequence[str], environ: Mapping[str, str] = os.environ, *, is_shown: bool = False) -> JobResult:
    """Run ``JOB --option value …`` to its end, and show what it prints or not.

    Raises:
        SetupError: it cannot be run; the message is the job's own sentence.
    """
    done = subprocess.run(
        [sys.executable, "-m", "spark_jobs.entrypoint", *words],
        env=dict(environ),
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SetupError(f"{words[0]} failed: {find_reason(done.stderr)}")
    *shown, result = done.stdout.rstrip().splitlines()
    if is_shown:
        print("\n".join(shown), flush=True)
    return JobResult.from_json(result)


def write_report(lake: Path, environ: Mapping[str, str], *people: str) -> Path:
    """The report of a lake, beside its folder; SetupError when it cannot be written. Of ``people`` names are shown."""
    path = lake.parent / "report.html"
    shown = ["--people", ",".join(people)] if people else []
    run_job(["report", "--output", str(path), "--overwrite", *shown], environ)
    return path
