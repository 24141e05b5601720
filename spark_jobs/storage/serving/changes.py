"""What changed in a mart between two instants, as one change for each key: from the rows of its change feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any


class ChangesUncertainError(Exception):
    """What has to be written to the store is not certain, and all rows have to be; never leaves the serving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRow:
    """What one commit of the mart did to a key: ``commit`` names it, ``values`` is the row after it, None for none."""

    key: str
    commit: str
    was_there: bool
    values: Sequence[Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """A key whose row differs between two instants: whether it had one, and its row now, None for none."""

    key: str
    was_there: bool
    values: Sequence[Any] | None


def net_changes(rows: Iterable[FeedRow], commits: Sequence[str]) -> Iterator[RowChange]:
    """What the commits did together, one change for each key.

    Of a row that moves to another partition a commit has two rows of the feed: one that goes and one that comes.

    Args:
        rows: those of all commits; the rows of a key follow each other, in any order.
        commits: the commits, oldest first.

    Raises:
        ChangesUncertainError: the rows do not follow from each other: a key has two rows, or one came that was there.
    """
    order = {commit: place for place, commit in enumerate(commits)}
    for key, of_key in groupby(rows, key=attrgetter("key")):
        yield _net(key, list(of_key), order)


def _net(key: str, rows: list[FeedRow], order: Mapping[str, int]) -> RowChange:
    rows.sort(key=lambda row: order[row.commit])
    was_there = is_there = any(row.was_there for row in rows if row.commit == rows[0].commit)
    values: Sequence[Any] | None = None
    for _, of_commit in groupby(rows, key=attrgetter("commit")):
        parts = list(of_commit)
        before, after = sum(row.was_there for row in parts), [row.values for row in parts if row.values is not None]
        if before != int(is_there) or len(after) > 1:
            raise ChangesUncertainError("its change feed has two rows of one key, or none of a row that was there")
        values = after[0] if after else None
        is_there = values is not None
    return RowChange(key=key, was_there=was_there, values=values)
