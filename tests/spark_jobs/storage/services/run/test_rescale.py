"""A keyed table in more buckets: the same rows by both readers, now, before and after; no mart downstream is refreshed.

The table is made with one bucket, or two; then its spec says five. Commit n gives the keys 0 to 9 the value n.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import NO_INSTANT, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.sizing.hashing import bucket_of
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.reader import plan_pull, read_as_of, read_pull
from spark_jobs.storage.restore import TableReturn, restore_table
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.writer import buckets_of
from tests.support.crashes import CrashError
from tests.support.numbered_tables import COPIED, MERGED, NumberedTable

pytestmark = pytest.mark.hudi
WANTED = 5


@pytest.fixture(
    params=[MERGED, pytest.param(COPIED, marks=pytest.mark.slice(name="tables"))], ids=lambda layout: layout.name
)
def small(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> NumberedTable:
    """Four commits, in the buckets it was made with."""
    layout: TableLayout = request.param
    table = NumberedTable(spark, layout, Settings(base_path=str(tmp_path), lease_wait_seconds=1))
    table.put_all(0, 3)
    return table


def grown(table: NumberedTable) -> NumberedTable:
    """The same table, of which the spec now declares more buckets."""
    return replace(table, layout=replace(table.layout, buckets=WANTED))


def assert_is_right(table: NumberedTable, last: int) -> None:
    assert table.rows_by_spark() == table.expected(last)
    assert table.rows_by_rust() == table.expected(last)


def live_groups(table: NumberedTable) -> int:
    return len(list(TableState.look(table.layout, table.path).live_groups))


def assert_keys_are_where_sizing_says(table: NumberedTable, buckets: int) -> None:
    rows = table.spark.read.format("hudi").load(table.path).select("_hoodie_record_key", "_hoodie_file_name").collect()
    assert len(rows) == 10
    assert [int(file[:8]) for _, file in rows] == [bucket_of(key, buckets) for key, _ in rows]


def test_the_rows_are_the_same_in_as_many_buckets_as_declared(small: NumberedTable):
    before, made_with, table = small.timeline, small.layout.buckets, grown(small)
    run = table.run(Service.RESCALE)
    assert run.is_done
    assert run.did.startswith(f"{made_with} to {WANTED} buckets, 10 rows at ")
    assert_is_right(table, 3)
    assert live_groups(table) == WANTED
    assert_keys_are_where_sizing_says(table, WANTED)
    timeline = table.timeline
    assert (buckets_of(table.layout, timeline), timeline.last) == (WANTED, before.last)
    since = InstantRange(after=before.newest or NO_INSTANT, up_to=timeline.newest or NO_INSTANT)
    assert timeline.changes_in(since) == ()
    assert not table.run(Service.RESCALE, is_forced=True).is_done


def test_writers_find_their_keys_in_the_new_buckets(small: NumberedTable):
    table = grown(small)
    table.run(Service.RESCALE)
    for number in range(4, 8):
        table.put(number)
        assert_is_right(table, number)
        assert_keys_are_where_sizing_says(table, WANTED)
        for service in Service:
            table.run(service)
        assert_is_right(table, number)
    assert live_groups(table) == len(TableState.look(table.layout, table.path).groups), "the old files are gone"


@pytest.mark.slice(name="tables")
def test_states_before_it_stay_readable(small: NumberedTable):
    states = {write.time: n for n, write in enumerate(small.timeline.writes)}
    table = grown(small)
    table.run(Service.RESCALE)
    table.put(4)
    for instant, number in states.items():
        rows = read_as_of(table.spark, table.path, instant).select("id", "v").collect()
        assert sorted((row["id"], row["v"]) for row in rows) == table.expected(number), instant


def test_a_pull_over_it_gives_every_change(small: NumberedTable):
    """And every other row once more: Hudi takes them for rewritten."""
    place, table = small.timeline.newest or NO_INSTANT, grown(small)
    table.run(Service.RESCALE)
    table.put(4)
    pull = plan_pull(table.timeline, after=place)
    assert not pull.resync_reason
    rows = read_pull(table.spark, table.path, pull).select("id", "v").collect()
    assert sorted((row["id"], row["v"]) for row in rows) == table.expected(4)


@pytest.mark.slice(name="tables")
def test_what_a_dead_compaction_had_planned_is_carried_out_first(small: NumberedTable, monkeypatch: pytest.MonkeyPatch):
    def die(*_: Any) -> None:
        raise CrashError

    if small.layout is MERGED:
        with monkeypatch.context() as patch:
            patch.setattr(TableServices, "_carry_out", die)
            with pytest.raises(CrashError):
                small.run(Service.COMPACTION)
        assert small.timeline.pending_plans
        small.put(4)
    else:
        small.put(4)
    table = grown(small)
    assert table.run(Service.RESCALE).is_done
    assert not table.timeline.pending
    assert_is_right(table, 4)


def test_a_restore_to_before_it_brings_the_old_buckets_back(small: NumberedTable):
    newest, made_with, table = small.timeline.newest or NO_INSTANT, small.layout.buckets, grown(small)
    record = Record(id="then", made_at="", made_by="test", what="", tables={table.name: newest})
    SavepointRecords(table.settings).keep(table.spark, record)
    table.run(Service.RESCALE)
    table.put(4)
    with hold_tables([table.name], job="test", settings=table.settings):
        plan = TableReturn(table=table.name, newest=NO_INSTANT, back_to=newest, commits=2)
        restore_table(table.spark, plan, table.settings)
    assert buckets_of(table.layout, table.timeline) == made_with
    assert_is_right(table, 3)
    table.put(4)
    assert_is_right(table, 4)
    assert table.run(Service.RESCALE).is_done
    assert_is_right(table, 4)


@pytest.mark.slice(name="tables")
def test_fewer_buckets_only_when_a_person_requests_them(small: NumberedTable):
    table = grown(small)
    table.run(Service.RESCALE)
    fewer = replace(table, layout=replace(table.layout, buckets=3))
    assert not fewer.run(Service.RESCALE).is_done
    assert fewer.run(Service.RESCALE, is_forced=True).did.startswith(f"{WANTED} to 3 buckets")
    assert_is_right(fewer, 3)
