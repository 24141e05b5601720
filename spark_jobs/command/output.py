"""Standard output for results alone: what other programs of this process print goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def results_apart() -> Iterator[None]:
    """While it is open, Python's own output is the process's, and what Java inherits as output is standard error."""
    sys.stdout.flush()
    python, own = sys.stdout, os.dup(1)
    os.dup2(2, 1)
    results = os.fdopen(own, "w", encoding=python.encoding, errors=python.errors)
    sys.stdout = results
    try:
        yield
    except BrokenPipeError:
        _nowhere()
    finally:
        with suppress(BrokenPipeError):
            results.flush()
        sys.stdout = python
        os.dup2(own, 1)
        with suppress(BrokenPipeError):
            results.close()


def _nowhere() -> None:
    """Whoever read the results has gone: what is left of them goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
