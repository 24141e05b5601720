"""What was cut off in a lake and has to end before something else is rewritten there.

The order of who waits for whom has no circle. A restore that was cut off is ended by itself alone, and everything else
waits for it but the ordinary jobs, which find tables that they can work on. An erasure waits for a restore, and for
nothing else that a command has left. All other commands wait for both.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.erasures import check_no_erasure
from spark_jobs.storage.restores import check_no_restore


def check_nothing_unfinished(settings: Settings, tables: Iterable[str] = ()) -> None:
    """Raise while an erasure or a restore of the lake is unfinished, or a restore of one of these tables.

    Called before anything is changed: what is written in between would be taken back by the restore, or would have to
    be erased.

    Raises:
        ErasureUnfinishedError: the message has the command that ends it.
        RestoreUnfinishedError: the same.
    """
    check_no_restore(settings, tables)
    check_no_erasure(settings)
