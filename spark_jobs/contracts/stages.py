"""Seconds and bytes of a run by stage, kept in the process until the run has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock


class Stage(StrEnum):
    """A part of a run whose time is measured."""

    LEASE = "lease"
    """Waiting for another writer of a table."""
    SESSION = "session"
    """Starting Spark, or connecting to it."""
    WRITE = "write"
    """A commit, with the computing of its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Seconds of one passage through a stage, or bytes that it wrote; ``table`` is "" where it is of none."""

    stage: Stage
    table: str = ""
    seconds: float | None = None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Stages:
    """What the run of this process has measured; several threads add to it."""

    _measures: list[Measure] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def passed(self, stage: Stage, table: str = "") -> Iterator[None]:
        """Measure how long the block takes, also when it raises."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self._add(Measure(stage=stage, table=table, seconds=time.monotonic() - begun))

    def wrote(self, stage: Stage, table: str, written: int) -> None:
        """So many bytes of files are of this stage."""
        self._add(Measure(stage=stage, table=table, bytes=written))

    def take(self) -> Sequence[Measure]:
        """All so far, which are forgotten here."""
        with self._lock:
            taken = tuple(self._measures)
            self._measures.clear()
        return taken

    def _add(self, measure: Measure) -> None:
        with self._lock:
            self._measures.append(measure)


STAGES = Stages()
"""Those of this process, which runs one job."""
