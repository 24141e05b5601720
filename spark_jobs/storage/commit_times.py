"""When commits were completed: in table version 6 nothing says so but the times of their files.

Hudi takes these times for three things: in which order a restore rolls commits back, which of them it rolls back at
all, and to which version of a file the log files beside it belong. A lake that was copied without its files' times
(``cp -r``, an upload to an object store) has others: a restore fails half-way, and rows that a compaction has merged
long ago count once more. The true times are recorded nowhere else, and the order in which commits were begun is as
good: that is also what Hudi takes for commits that it has archived.

An object store gives times in whole seconds, by its own clock. So a compaction that was begun and ended within one
second, or by a clock that is ahead of the store's, has a file that is older than its instant: for Hudi it ended before
it was begun, and log files over its base files belong to the version before, where no reader of Hudi looks for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.storage.filesystem import Filesystem

MOVED = "lakehouse.moved_up_to_"
"""Beginning of the name of a file in ``.hoodie``; an instant follows: what is older has lost its times for good, and
nothing is left that they would matter for."""
_SECOND = 1.0
_MOST_SKEW_MS = 60_000
"""So far an object store's clock may be ahead of the writers'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedWrite:
    """A completed write: when it was begun, as its name says, its action, and the time of its file in nanoseconds."""

    time: Instant
    action: str
    modified_ns: int

    @property
    def file_name(self) -> str:
        """The name of its commit file below ``.hoodie``."""
        return f"{self.time}.{self.action}"


def find_misdated(writes: Sequence[CompletedWrite], *, is_local: bool) -> tuple[Instant, ...]:
    """Instants of the writes whose files are too young to be those that were written when the writes ended.

    Writers of a table come one after the other, so a write ended before the next one was begun. Only compaction and
    clustering may end later: before the next of their own kind. Instants that are no times have no answer.

    Args:
        writes: completed ones, oldest first.
        is_local: the files' times are by the clock that gave the instants, and not by that of an object store.
    """
    begun = [_begun_ms(write.time) for write in writes]
    known = [ms for ms in begun if ms is not None]
    if len(known) != len(writes) or len(writes) < 2:
        return ()
    ended = [write.modified_ns // 1_000_000 for write in writes]
    skew = 0 if is_local else min(_MOST_SKEW_MS, max(0, min(map(int.__sub__, ended, known))))
    is_merged = any(write.action == "deltacommit" for write in writes)
    found, next_begun, next_alike = list[Instant](), 0, dict[str, int]()
    for write, began, end in reversed(list(zip(writes, known, ended, strict=True))):
        may_overlap = write.action == "replacecommit" or (is_merged and write.action == "commit")
        bound = next_alike.get(write.action, 0) if may_overlap else next_begun
        if bound and end - skew >= bound:
            found.append(write.time)
        next_begun = next_alike[write.action] = began
    return tuple(reversed(found))


def find_early(writes: Sequence[CompletedWrite]) -> list[CompletedWrite]:
    """The compactions among the writes whose files are older than their instants."""
    if not any(write.action == "deltacommit" for write in writes):
        return []  # commits of a copy-on-write table: none has log files
    found = ((write, _begun_ms(write.time)) for write in writes if write.action == "commit")
    return [write for write, began in found if began is not None and write.modified_ns // 1_000_000 < began]


def set_late_enough(files: Filesystem, writes: Sequence[CompletedWrite]) -> None:
    """Give the files of the writes times that are not before the instants of these.

    On local storage the instant. Elsewhere the file is written once more, until the store's clock is late enough.

    Raises:
        TransientError: the store's clock is far behind.
    """
    for write in writes:
        name, began, tries = (
            f".hoodie/{write.file_name}",
            (_begun_ms(write.time) or 0) * 1_000_000,
            _MOST_SKEW_MS // 1000,
        )
        if files.is_local:
            files.set_changed_ns(name, began)
            continue
        content = files.read(name)
        while content is not None and (files.changed_ns(name) or 0) < began:
            if not tries:
                raise TransientError(
                    f"{name}: the store's clock is behind by over a minute; set the clocks, run it again"
                )
            tries -= 1
            time.sleep(_SECOND)  # the store's times have no parts of one
            files.write(name, content)


def is_in_order(writes: Sequence[CompletedWrite]) -> bool:
    """True when the writes ended in the order in which they were begun; of one time counts which was begun first."""
    ended = [write.modified_ns // 1_000_000 for write in writes]
    return ended == sorted(ended)


def put_in_order(files: Filesystem, writes: Sequence[CompletedWrite]) -> bool:
    """Give the files of the writes times in the order in which these were begun; True when that was possible.

    On local storage the times at which they were begun. Elsewhere a file's time is that of its writing, so each is
    written once more, the oldest first. The caller holds the lease of the table.
    """
    for write in writes:
        name, began = f".hoodie/{write.file_name}", _begun_ms(write.time)
        if began is None:
            return False
        if files.is_local:
            files.set_changed_ns(name, began * 1_000_000)
        elif (content := files.read(name)) is not None:
            files.write(name, content)
    return True


def _begun_ms(instant: Instant) -> int | None:
    try:
        return round(moment_of(instant).timestamp() * 1000)
    except (ContractError, ValueError):
        return None
