"""Where bugs are tried: copies of the tree, each with a Spark that its test processes share."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from tests.mutants.bugs import Patch
from tests.mutants.runs import Clean, Tried, Verdict, try_patch
from tests.run.shared_spark import offering_spark

MOST_BUGS = 25
"""Bugs tried with one Spark: the processes that ran the UDFs of each stay until it ends."""


class Place:
    """A copy of the tree with a Spark, which is warm from the second bug on."""

    def __init__(self, copy: Path, log: Path) -> None:
        self.copy = copy
        self._log = log
        self._opened = ExitStack()
        self._bugs = 0
        self.environ = self._offer()

    def try_patch(self, patch: Patch, clean: Clean) -> Tried:
        """Plant a bug here and run its tests; what it left running in Spark is ended before the next bug."""
        tried = try_patch(patch, self.copy, clean, self.environ)
        self._bugs += 1
        if tried.verdict is Verdict.LATE or self._bugs == MOST_BUGS:
            self.close()
            self._bugs, self.environ = 0, self._offer()
        return tried

    def close(self) -> None:
        """End the Spark."""
        self._opened.close()

    def _offer(self) -> dict[str, str]:
        return self._opened.enter_context(offering_spark(os.environ, self._log))
