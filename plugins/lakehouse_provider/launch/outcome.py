"""How a driver elsewhere ended, for the process that waits for it: read from the file that it left (ADR 15)."""

from __future__ import annotations

import subprocess
import sys
import time

from spark_jobs.contracts.outcomes import JobOutcome

READER = "spark_jobs.storage.outcome_files"
"""A process of its own: it needs pyarrow, which a process that only waits need not load."""
_TRIES, _PAUSE_SECONDS = 3, 2.0


def log_line(line: str) -> None:
    """One line for the task's log."""
    print(line, file=sys.stderr, flush=True)


def report_outcome(results: str) -> int | None:
    """Print the driver's line as the driver would have, and give its exit code; None when it left none.

    An error of the reader is printed too and gives the exit code then. Reading is cheaper than the job, so it is tried
    several times.
    """
    for left in reversed(range(_TRIES)):
        read = subprocess.run([sys.executable, "-m", READER, results], stdout=subprocess.PIPE, text=True)
        if not read.returncode:
            break
        if not left:
            return read.returncode if read.returncode in (1, 2) else 1
        time.sleep(_PAUSE_SECONDS)
    if not read.stdout.strip():
        return None
    outcome = JobOutcome.from_json(read.stdout)
    print(outcome.line, file=sys.stderr if outcome.exit_code else sys.stdout, flush=True)
    return outcome.exit_code
