"""Starts a long-running program again when it dies.

``python -m local_stack.servers.keep_running PROGRAM [ARGUMENT …]``

Airflow's scheduler can die on SQLite: `airflow backfill create` that finds the database locked takes back runs which
the scheduler is about to start. A cluster's process manager would start it again, and so does this.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

LEAST_SECONDS = 20.0
"""A program that first ends sooner than this cannot start at all: trying again does not help."""
MOST_STARTS = 50
PAUSE_SECONDS = 1.0


def keep_running(command: Sequence[str]) -> int:
    """Run the program until it is stopped, or ends by itself; gives its exit code.

    It is started again when it fails after it ran for a while. Whoever stops it stops its process group, so that the
    program hears of it too.
    """
    is_stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping
        is_stopping = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    begun = time.monotonic()
    for start in range(1, MOST_STARTS + 1):
        code = subprocess.Popen(list(command)).wait()
        if code == 0 or is_stopping or time.monotonic() - begun < LEAST_SECONDS or start == MOST_STARTS:
            break
        print(f"keep_running: {command[-1]} ended with exit code {code}; starting it again", flush=True)
        time.sleep(PAUSE_SECONDS)
    return code


if __name__ == "__main__":
    sys.exit(keep_running(sys.argv[1:]))
