"""A job of the platform run from here, as from a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from local_stack.errors import SetupError, find_reason
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.results import JobResult


def run_job(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> JobResult:
    """Run ``JOB --option value …`` to its end; SetupError with the job's own sentence when it cannot."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_jobs.entrypoint", *words],
        env=dict(environ),
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SetupError(f"{words[0]} failed: {find_reason(done.stderr)}")
    return JobResult.from_json(done.stdout.strip().splitlines()[-1])
