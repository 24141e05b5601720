"""Checkpoints: how far a consumer has read a source, to the end of a commit or to a file within one.

As text a checkpoint is an instant, or, within a commit, ``<instant>/<commit>/<files>/<listing>``: everything up to the
instant was read, and of the commit after it the first so many data files, in the order of their paths. ``listing`` is a
hash of these paths: the number counts only while the commit is the same. Such a text sorts behind its instant and
before every later one, so code that only compares it with an instant needs to know nothing of parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant, parse_instant
from spark_jobs.contracts.names import show

_TEXT = re.compile(r"([0-9]{17})(?:/([0-9]{17})/([1-9][0-9]{0,8})/([0-9a-f]{12}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Everything up to ``instant`` was read; and, unless ``begun`` is empty, the first ``files`` of that commit.

    Between the two are no commits but those of table services, which have no rows of their own.
    """

    instant: Instant = BEGINNING
    begun: Instant = NO_INSTANT
    files: int = 0
    listing: str = ""

    def __post_init__(self) -> None:
        parse_instant(self.instant)
        if bool(self.begun) != bool(self.files) or bool(self.begun) != bool(self.listing):
            raise ContractError("a checkpoint within a commit needs the commit, a number of files and their hash")
        if self.begun and parse_instant(self.begun) <= self.instant:
            raise ContractError(f"commit {self.begun} is not after {self.instant}, and cannot be read in part after it")

    @classmethod
    def parse(cls, text: str) -> Self:
        """What ``str`` gave; ContractError when it is something else."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ContractError(
                f"{show(text)} is not a checkpoint; remove the consumer's file and run its job again: it goes on from "
                f"what its tables say"
            )
        instant, begun, files, listing = found.groups()
        return cls(instant=Instant(instant), begun=Instant(begun or ""), files=int(files or 0), listing=listing or "")

    def __str__(self) -> str:
        return f"{self.instant}/{self.begun}/{self.files}/{self.listing}" if self.begun else self.instant

    def __lt__(self, other: Self) -> bool:
        """True when less of the source was read."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[str, bool, int]:
        # Within a commit it is before the end of that commit and behind all others before it, whatever `instant` is:
        # a service may have come between the two since.
        return (self.begun or self.instant, not self.begun, self.files)


def furthest_behind(checkpoints: Iterable[str]) -> str:
    """The checkpoint at which least was read."""
    return str(min(map(Checkpoint.parse, checkpoints)))


def instant_of(checkpoint: str) -> Instant:
    """The instant up to which everything was read."""
    return Instant(checkpoint.partition("/")[0])


def needed_from(checkpoint: str) -> Instant:
    """The oldest commit that who goes on from here needs: the one that was begun, or the last that was read."""
    _, _, rest = checkpoint.partition("/")
    return Instant(rest.partition("/")[0] or checkpoint)
