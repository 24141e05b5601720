"""What is interrupted: each scenario prepares a numbered table, and then does one thing that may be done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.restore import TableReturn, restore_table
from spark_jobs.storage.savepoints import Record, SavepointRecords
from tests.support.numbered_tables import COPIED, LOG, MERGED, REPLACED, NumberedTable

Step = Callable[[NumberedTable], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """``act`` is what the storage stops in; ``last`` is the number of the table's newest commit once it is done.

    ``prepare`` is shared by all scenarios that name the same step for the same layout, ``then`` is this one's own. With
    ``dies_in`` the prepared table is one in which that write has died as it was about to complete.
    """

    kind: str
    layout: TableLayout
    prepare: Step
    act: Step
    last: int
    then: Step | None = None
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


def _keep_third_last(table: NumberedTable) -> None:
    record = Record(id="then", made_at="", made_by="test", what="", tables={table.name: table.timeline.writes[-3].time})
    SavepointRecords(table.settings).keep(table.spark, record)


def _restore(table: NumberedTable) -> None:
    (then,) = table.timeline.savepoints
    way = TableReturn(table=table.name, newest=NO_INSTANT, back_to=then, commits=2)
    with hold_tables([table.name], job="test", settings=table.settings):
        restore_table(table.spark, way, table.settings)


_FOUR, _SIX, _IN_ONE_BUCKET = _put_all(3), _put_all(5), _put_all_in_one_bucket
"""How tables are prepared: with so many commits."""
SCENARIOS = (
    Scenario(kind="create, merge-on-read", layout=MERGED, prepare=_nothing, act=_put(0), last=0),
    Scenario(kind="create, append-only", layout=LOG, prepare=_nothing, act=_put(0), last=0),
    Scenario(kind="append", layout=LOG, prepare=_FOUR, act=_put(4), last=4, task={"numbers": [4]}),
    Scenario(kind="upsert, copy-on-write", layout=COPIED, prepare=_SIX, act=_put(6), last=6, task={"numbers": [6]}),
    Scenario(kind="delta, merge-on-read", layout=MERGED, prepare=_FOUR, act=_put(4), last=4, task={"numbers": [4]}),
    Scenario(kind="overwrite", layout=REPLACED, prepare=_put_all(1), act=_put(2), last=2),
    Scenario(kind="upsert, clean, archive", layout=COPIED, prepare=_SIX, act=_put_clean_archive, last=6),
    Scenario(
        kind="compaction",
        layout=MERGED,
        prepare=_FOUR,
        act=_run(Service.COMPACTION),
        last=3,
        task={"service": "compaction"},
    ),
    Scenario(
        kind="rescale",
        layout=MERGED,
        prepare=_IN_ONE_BUCKET,
        act=_run(Service.RESCALE),
        last=3,
        task={"service": "rescale"},
    ),
    Scenario(
        kind="clustering",
        layout=LOG,
        prepare=_FOUR,
        act=_run(Service.CLUSTERING),
        last=3,
        task={"service": "clustering"},
    ),
    Scenario(kind="rollback, copy-on-write", layout=COPIED, prepare=_SIX, act=_put(6), last=6, dies_in=_put(6)),
    Scenario(kind="rollback, merge-on-read", layout=MERGED, prepare=_FOUR, act=_put(4), last=4, dies_in=_put(4)),
    Scenario(kind="restore, copy-on-write", layout=COPIED, prepare=_SIX, then=_keep_third_last, act=_restore, last=3),
    Scenario(kind="restore, merge-on-read", layout=MERGED, prepare=_FOUR, then=_keep_third_last, act=_restore, last=1),
)
