"""A commit larger than what is read at a time, cut into parts: some of its data files each, in a fixed order.

A commit file names the files that the commit wrote and their bytes. In a copy-on-write table these files never change,
so the first n of them, by path, are the same ones in every process and after every crash. A part is read from its files
alone (:mod:`spark_jobs.storage.commit_files`): no table service and no other commit has a say in which rows it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.contracts.checkpoints import Checkpoint
from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.commit_files import base_files, is_rewritten_after, is_updated_after, missing_files
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.timeline import Timeline

_HASH_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPart:
    """Some files of a commit, by their paths below the table's folder; ``done`` of ``of`` are read when these are."""

    instant: Instant
    files: tuple[str, ...]
    done: int
    of: int
    listing: str

    @property
    def is_last(self) -> bool:
        """True when nothing of the commit comes after it."""
        return self.done == self.of

    def checkpoint(self, after: Instant) -> str:
        """The checkpoint of who has read it, and everything up to ``after`` before the commit."""
        if self.is_last:
            return self.instant
        return str(Checkpoint(instant=after, begun=self.instant, files=self.done, listing=self.listing))


def first_part(timeline: Timeline, write: CompletedWrite, most_bytes: int) -> CommitPart | None:
    """The first part of a commit; None for one that is read as a whole.

    That is one of a single file or with log files, one of a table service, one of whose rows a later commit took some
    away or wrote them again, and one of whose files some are no longer there.
    """
    if write.action != "commit" or timeline.is_service(write) or is_rewritten_after(timeline, write.time):
        return None
    sizes = base_files(timeline, write)
    if len(sizes) < 2 or is_updated_after(timeline, write.time, sizes) or missing_files(timeline, sizes):
        return None
    return _part(write, sizes, done=0, most_bytes=most_bytes)


def next_part(timeline: Timeline, place: Checkpoint, most_bytes: int | None) -> CommitPart | None:
    """What comes after a place within a commit; None when there is no such commit any more, or its rows may be gone."""
    begun = next((write for write in timeline.writes if write.time == place.begun), None)
    if begun is None or begun.time > timeline.readable_up_to or is_rewritten_after(timeline, begun.time):
        return None
    sizes = base_files(timeline, begun)
    if _hash(sizes) != place.listing or place.files >= len(sizes):
        return None
    return _part(begun, sizes, done=place.files, most_bytes=most_bytes)


def cut_files(sizes: Sequence[int], *, done: int, most_bytes: int | None) -> int:
    """How many files are read when the next part is: those that fit into ``most_bytes`` together, but at least one."""
    end, taken = done + 1, sizes[done]
    while end < len(sizes) and (not most_bytes or taken + sizes[end] <= most_bytes):
        taken += sizes[end]
        end += 1
    return end


def _part(write: CompletedWrite, sizes: Mapping[str, int], *, done: int, most_bytes: int | None) -> CommitPart:
    end = cut_files(list(sizes.values()), done=done, most_bytes=most_bytes)
    return CommitPart(instant=write.time, files=tuple(sizes)[done:end], done=end, of=len(sizes), listing=_hash(sizes))


def _hash(sizes: Mapping[str, int]) -> str:
    return hashlib.sha256("\n".join(sizes).encode()).hexdigest()[:_HASH_DIGITS]
