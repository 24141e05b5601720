"""How a driver elsewhere ended, for the process that waits for it: read from the file that it left (ADR 15)."""

from __future__ import annotations

import subprocess
import sys
import time

from spark_jobs.contracts.outcomes import JobOutcome

READER = "spark_jobs.storage.outcome_files"
"""A process of its own: it needs pyarrow, which nobody has to load who only waits."""
_TRIES, _PAUSE_SECONDS = 3, 2.0


def tell(line: str) -> None:
    """One line for the task's log."""
    print(line, file=sys.stderr, flush=True)


def report_outcome(results: str) -> int | None:
    """Say the driver's line as the driver would have, and give its exit code; None when it left none.

    What keeps the file from being read is said too, and is the exit code then; reading is cheaper than the job, so it
    is tried some times.
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
