"""What is interrupted: each scenario prepares a numbered table, and then does one thing that may be done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.contracts.services import Service
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.restore import TableReturn, restore_table
from spark_jobs.storage.savepoints import Record, SavepointRecords
from tests.support.numbered_tables import ANEW, COPIED, LOG, MERGED, NumberedTable

Step = Callable[[NumberedTable], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """``act`` is what the storage stops in; ``last`` is the number of the table's newest commit once it is done.

    With ``dies_in`` the prepared table is one in which that write has died as it was about to complete.
    """

    kind: str
    layout: TableLayout
    prepare: Step
    act: Step
    last: int
    dies_in: Step | None = None
    task: Mapping[str, Any] = field(default_factory=dict)
    """The same as ``act`` for a driver of its own (see drivers.Task)."""


def _put(number: int) -> Step:
    return lambda table: table.put(number)


def _put_all(last: int) -> Step:
    return lambda table: table.put_all(0, last)


def _put_all_in_one_bucket(table: NumberedTable) -> None:
    replace(table, layout=replace(table.layout, buckets=1)).put_all(0, 3)


def _nothing(_: NumberedTable) -> None:
    return None


def _run(service: Service) -> Step:
    return lambda table: table.run(service, is_forced=True)


def _put_clean_archive(table: NumberedTable) -> None:
    table.put(6)
    table.run(Service.CLEAN)
    table.run(Service.ARCHIVE)


def _put_past_a_savepoint(table: NumberedTable) -> None:
    table.put_all(0, 2)
    newest = table.timeline.newest
    assert newest is not None
    record = Record(id="then", made_at="", made_by="test", what="", tables={table.name: newest})
    SavepointRecords(table.settings).keep(table.spark, record)
    table.put_all(3, 4)


def _restore(table: NumberedTable) -> None:
    (then,) = table.timeline.savepoints
    way = TableReturn(table=table.name, newest="", back_to=then, commits=2)
    with hold_tables([table.name], job="test", settings=table.settings):
        restore_table(table.spark, way, table.settings)


_SECOND: Mapping[str, Any] = {"numbers": [2]}
SCENARIOS = (
    Scenario(kind="create, merge-on-read", layout=MERGED, prepare=_nothing, act=_put(0), last=0),
    Scenario(kind="create, append-only", layout=LOG, prepare=_nothing, act=_put(0), last=0),
    Scenario(kind="append", layout=LOG, prepare=_put_all(1), act=_put(2), last=2, task=_SECOND),
    Scenario(kind="upsert, copy-on-write", layout=COPIED, prepare=_put_all(1), act=_put(2), last=2, task=_SECOND),
    Scenario(kind="delta, merge-on-read", layout=MERGED, prepare=_put_all(1), act=_put(2), last=2, task=_SECOND),
    Scenario(kind="overwrite", layout=ANEW, prepare=_put_all(1), act=_put(2), last=2),
    Scenario(kind="upsert, clean, archive", layout=COPIED, prepare=_put_all(5), act=_put_clean_archive, last=6),
    Scenario(
        kind="compaction",
        layout=MERGED,
        prepare=_put_all(3),
        act=_run(Service.COMPACTION),
        last=3,
        task={"service": "compaction"},
    ),
    Scenario(
        kind="rescale",
        layout=MERGED,
        prepare=_put_all_in_one_bucket,
        act=_run(Service.RESCALE),
        last=3,
        task={"service": "rescale"},
    ),
    Scenario(
        kind="clustering",
        layout=LOG,
        prepare=_put_all(3),
        act=_run(Service.CLUSTERING),
        last=3,
        task={"service": "clustering"},
    ),
    Scenario(kind="rollback, copy-on-write", layout=COPIED, prepare=_put_all(1), act=_put(2), last=2, dies_in=_put(2)),
    Scenario(kind="rollback, merge-on-read", layout=MERGED, prepare=_put_all(1), act=_put(2), last=2, dies_in=_put(2)),
    Scenario(kind="restore, copy-on-write", layout=COPIED, prepare=_put_past_a_savepoint, act=_restore, last=2),
    Scenario(kind="restore, merge-on-read", layout=MERGED, prepare=_put_past_a_savepoint, act=_restore, last=2),
)
