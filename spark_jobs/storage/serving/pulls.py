"""What of a mart the store has to read to get from the instant that it has to a newer one, when that is certain."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructType

from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.storage.change_feed import columns_of_changes, folders_in
from spark_jobs.storage.reader import Pull, plan_pull
from spark_jobs.storage.serving.changes import ChangesUncertainError
from spark_jobs.storage.serving.columns import types_of
from spark_jobs.storage.serving.tables import ServedMart
from spark_jobs.storage.timeline import Timeline

_AS_WIDE = {"tinyint": "int", "smallint": "int"}
"""Types of computed rows that a table has as another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPull:
    """The changes after an instant: of a mart to which rows are only added by a pull, else by its change feed.

    ``folders`` are those of the feed, oldest first, and ``columns`` what their rows have.
    """

    after: Instant
    pull: Pull | None = None
    folders: tuple[str, ...] = ()
    columns: StructType | None = None


def newest_state(timeline: Timeline) -> Instant | None:
    """The newest commit that changed rows, of those that no writer at work can still put one before; None for none."""
    bound = timeline.readable_up_to
    changes = timeline.changes_in(InstantRange(after=BEGINNING, up_to=bound))
    return changes[-1].time if changes else None


def plan_changes(
    timeline: Timeline,
    served: ServedMart,
    schema: StructType,
    up_to: Instant,
    *,
    is_appended: bool,
    settings: Settings,
) -> ServedPull:
    """What to read for the changes after the served instant.

    Args:
        timeline: the mart's.
        served: what the store has.
        schema: the columns that readers see of the mart as of ``up_to``.
        up_to: the instant to get to.
        is_appended: rows are only added to the mart, and it has no change feed.
        settings: where the lake is.

    Raises:
        ChangesUncertainError: what changed is not known with certainty; it says why.
    """
    if not served.is_keyed:
        raise ChangesUncertainError("its table in the store is of an earlier release")
    if served.instant > up_to or not timeline.holds(served.instant):
        raise ChangesUncertainError(f"instant {served.instant}, which was served, is not on its timeline any more")
    window, wanted = InstantRange(after=served.instant, up_to=up_to), types_of(schema)
    changes = timeline.changes_in(window)
    if rewritten := [write.time for write in changes if write.action == "replacecommit"]:
        raise ChangesUncertainError(f"it was rewritten at {rewritten[0]}")
    if any(served.column_types.get(name) != kind for name, kind in wanted.items()):
        raise ChangesUncertainError("its columns changed")
    if is_appended:
        if other := [write.time for write in changes if not timeline.is_append(write)]:
            raise ChangesUncertainError(f"commit {other[0]} did not only add rows")
        pull = plan_pull(timeline, after=served.instant)
        if pull.resync_reason:
            raise ChangesUncertainError(pull.resync_reason)
        return ServedPull(after=served.instant, pull=pull)
    folders = folders_in(timeline, window, settings)
    if not folders:
        raise ChangesUncertainError("a commit since then kept no changes")
    columns = [columns_of_changes(timeline, write) for write in changes]
    if any(found is None or _of_rows(found) != _widened(wanted) for found in columns):
        raise ChangesUncertainError("its columns changed")
    return ServedPull(after=served.instant, folders=tuple(folders), columns=columns[-1])


def _of_rows(columns: StructType) -> dict[str, str] | None:
    """The columns of the rows with their types; None without the key, as in feeds of earlier releases."""
    types = types_of(columns)
    return _widened(types) if types.pop(CELL_ID, None) else None


def _widened(types: dict[str, str]) -> dict[str, str]:
    return {name: _AS_WIDE.get(kind, kind) for name, kind in types.items()}
