"""Stops a stack when the process that started it is gone: ``python -m local_stack.servers.guard RUN_FOLDER``.

It waits on its standard input, which the starter holds open. A starter that ends in order says so first. One that is
killed cannot say anything: the input ends, and the guard stops what is left.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from local_stack.servers.guarding import DONE
from local_stack.servers.services import RunFolder

_IN_ORDER_SECONDS = 3.0
"""That services have to end in order when no one waits for it: the next start may come at any moment."""


def run(folder: Path) -> None:
    """Wait for the end of the starter; stop the stack unless it reported the end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever ends a whole group means the starter
    if sys.stdin.buffer.read() != DONE:
        deadline = time.monotonic() + _IN_ORDER_SECONDS
        stopped = RunFolder(folder).stop_all(is_urgent=lambda: time.monotonic() > deadline)
        print(f"who started the stack is gone; stopped {stopped}", flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
