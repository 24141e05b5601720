"""A stack has a guard (:mod:`local_stack.servers.guard`) for as long as the process that started it is at work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from local_stack.layout import PROJECT_ROOT

DONE = b"done"
"""What a starter that ends in order sends to its guard."""
_END_SECONDS = 30.0


@contextmanager
def guarding(folder: Path) -> Iterator[None]:
    """Have a guard over the stack of a run folder until this block has ended, however it ends."""
    command = [sys.executable, "-m", "local_stack.servers.guard", str(folder.absolute())]
    with (folder / "logs" / "guard.log").open("ab") as log:
        guard = subprocess.Popen(
            command, cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        with suppress(OSError, subprocess.TimeoutExpired):
            guard.communicate(DONE, timeout=_END_SECONDS)
