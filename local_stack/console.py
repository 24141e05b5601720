"""Messages of the local stack to a person; standard output stays free for results."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print one line on standard error at once."""
    print(text, file=sys.stderr, flush=True)
