"""What was cut off in a lake and has to end before something else is rewritten there: who waits for whom.

| unfinished | is ended by | which waits for |
|---|---|---|
| a restore | `restore --to …` again | nothing; it drops the rows that a repair keeps of its tables |
| a repair of commits that are later than now | `doctor repair` again | a restore |
| an erasure | `erase` again, or with `--give-up` | a restore (not with `--give-up`), a repair |

So the order has no circle. All other commands that rewrite wait for all three. What takes in (`ingest`, `source`) waits
for a repair and an erasure: while these are unfinished, what was delivered would be read once more. The other ordinary
jobs (split, marts, services) go on, on tables that they can work on.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.erasures import check_no_erasure
from spark_jobs.storage.kept_rows import check_nothing_kept
from spark_jobs.storage.restores import check_no_restore, has_begun


def check_nothing_unfinished(settings: Settings, tables: Iterable[str] = ()) -> None:
    """Raise while a restore, a repair or an erasure of the lake is unfinished, or a restore of one of these tables.

    Called before anything is changed: what is written in between would be taken back by the restore, or would have to
    be erased.

    Raises:
        RestoreUnfinishedError: the message has the command that ends it.
        RowsKeptError: the same, of a repair.
        ErasureUnfinishedError: the same.
    """
    check_no_restore(settings, tables)
    check_intake(settings)


def check_intake(settings: Settings) -> None:
    """Raise RowsKeptError or ErasureUnfinishedError while what was delivered before would be read once more."""
    check_nothing_kept(settings)
    check_no_erasure(settings)


def check_erasure(settings: Settings, tables: Iterable[str]) -> None:
    """Raise RestoreUnfinishedError or RowsKeptError while an erasure may neither begin nor go on.

    The restore needs a savepoint that it would delete; rows that are in no table would come back with the person.
    """
    check_no_restore(settings, tables)
    check_nothing_kept(settings)


def may_repair(settings: Settings, table: str) -> bool:
    """False while a restore is unfinished: rows that were committed again in its middle would say what was read."""
    return not has_begun(settings, [table])
