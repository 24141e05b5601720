"""Progress of what takes over ten seconds, on standard error: the newest step that a job logged, and for how long."""

from __future__ import annotations

import logging
import sys
import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

FIRST_SECONDS = 10.0
EVERY_SECONDS = 30.0
_LONGEST = 90


class Progress(logging.Handler):
    """While it is open: after ten seconds a line that changes, on a terminal; elsewhere a new line now and then."""

    def __init__(self, what: str, *, first: float = FIRST_SECONDS, every: float = EVERY_SECONDS) -> None:
        super().__init__(logging.INFO)
        self._what, self._first, self._every = what, first, every
        self._step, self._begun = "", time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, name="progress", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the newest step."""
        self._step = record.getMessage()

    def __enter__(self) -> Self:
        logging.getLogger("spark_jobs").addHandler(self)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        logging.getLogger("spark_jobs").removeHandler(self)

    @property
    def line(self) -> str:
        """What is going on."""
        step = " ".join(self._step.split())
        shown = step if len(step) <= _LONGEST else f"{step[:_LONGEST]}…"
        return f"{self._what}, {time.monotonic() - self._begun:.0f} s{f': {shown}' if shown else ''}"

    def _show(self) -> None:
        if self._ended.wait(self._first):
            return
        console = Console(stderr=True)
        if not console.is_terminal:
            self._print_lines()
            return
        with Status(Text(self.line), console=console) as status:
            while not self._ended.wait(0.5):
                status.update(Text(self.line))

    def _print_lines(self) -> None:
        while True:
            print(self.line, file=sys.stderr, flush=True)
            if self._ended.wait(self._every):
                return
