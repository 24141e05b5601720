"""What Hudi itself gives when a table is read as of an instant, or pulled past a commit that rewrote it.

A log of three commits with two rows each, one partition a row: values 1 and 2, 11 and 12, 21 and 22.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.procedures import register_table
from spark_jobs.storage.reader import Pull, plan_pull, read_as_of, read_pull, read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import Commit, commit

pytestmark = pytest.mark.hudi

LOG = TableLayout(name="events", record_key="id", partition="day", form=StorageForm.APPENDED)
KEYED = TableLayout(name="events", record_key="id", form=StorageForm.KEYED)
REWRITTEN = TableLayout(name="events", record_key="id", partition="day", form=StorageForm.REPLACED)
VALUES = [(1, 2), (11, 12), (21, 22)]
_VERSION_6 = "hoodie.write.table.version=6,hoodie.write.auto.upgrade=false,hoodie.metadata.enable=false"


def write(spark: SparkSession, settings: Settings, values: Iterable[int], layout: TableLayout = LOG) -> Commit:
    rows_df = spark.createDataFrame([(f"{v}", f"2026-01-0{v % 10}", v) for v in values], "id string, day string, v int")
    return commit(rows_df, layout, metadata={}, settings=settings)


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> tuple[Settings, list[Instant]]:
    """The log's settings and the instants of its commits."""
    settings = Settings(base_path=str(tmp_path))
    return settings, [write(spark, settings, values).instant for values in VALUES]


def pull(spark: SparkSession, settings: Settings, after: str) -> tuple[Pull, list[int]]:
    """The planned pull after an instant, and the values it gives."""
    plan = plan_pull(Timeline(table="events", path=settings.table_path("events")), after=after)
    return plan, sorted(row.v for row in read_pull(spark, settings.table_path("events"), plan).collect())


def test_clustering_gives_no_row_again(spark: SparkSession, events: tuple[Settings, list[Instant]]) -> None:
    settings, instants = events
    name = register_table(spark, "events", settings.table_path("events"))
    spark.sql(
        f"CALL run_clustering(table => '{name}', op => 'scheduleandexecute', "
        f"options => '{_VERSION_6},hoodie.write.record.merge.mode=COMMIT_TIME_ORDERING')"
    ).collect()
    timeline = Timeline(table="events", path=settings.table_path("events"))
    assert [(write.action, timeline.is_service(write)) for write in timeline.writes[-2:]] == [
        ("commit", False),
        ("replacecommit", True),
    ]
    write(spark, settings, [31])
    for number, instant in enumerate(instants):
        plan, values = pull(spark, settings, instant)
        assert (plan.resync_reason, values) == ("", [v for pair in VALUES[number + 1 :] for v in pair] + [31])
    plan, values = pull(spark, settings, timeline.writes[-1].time)
    assert (plan.resync_reason, values) == ("", [31])


def test_a_table_that_was_rewritten_is_read_from_its_start(
    spark: SparkSession, events: tuple[Settings, list[Instant]]
) -> None:
    settings, instants = events
    rewritten = write(spark, settings, [11, 21, 22], REWRITTEN).instant
    write(spark, settings, [31])
    for instant in instants:
        plan, values = pull(spark, settings, instant)
        assert plan.resync_reason == f"events was rewritten at {rewritten}, after checkpoint {instant}"
        assert values == [11, 21, 22, 31]
    plan, values = pull(spark, settings, rewritten)
    assert (plan.resync_reason, values) == ("", [31])


def test_most_of_a_table_is_read_from_the_whole_of_it(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Unless its files are named, as those of a log are."""
    settings = Settings(base_path=str(tmp_path))
    instants = [write(spark, settings, values, KEYED).instant for values in VALUES]
    found = []
    for instant in (BEGINNING, *instants):
        with caplog.at_level("INFO"):
            found.append(pull(spark, settings, instant))
    assert [plan.is_by_snapshot for plan, _ in found] == [False, True, False, False]
    assert [values for _, values in found] == [[v for pair in VALUES[n:] for v in pair] for n in range(4)]
    assert [line for line in caplog.messages if "bytes are new" in line], "the rule shows in the log"


def test_a_pull_is_cut_between_commits(spark: SparkSession, events: tuple[Settings, list[Instant]]) -> None:
    settings, instants = events
    timeline = Timeline(table="events", path=settings.table_path("events"))
    one = timeline.bytes_written(timeline.writes[0])
    for most, ends in ((1, [0, 1, 2]), (one * 5 // 2, [2]), (one * 3 // 2, [1, 2]), (None, [2])):
        after: str = BEGINNING
        values, cuts = [], []
        while after != instants[-1]:
            plan = plan_pull(timeline, after=after, most_bytes=most)
            values += [row.v for row in read_pull(spark, timeline.path, plan).collect()]
            cuts.append(plan.window.up_to)
            after = plan.checkpoint
            assert plan.has_more == (after != instants[-1])
            assert bool(plan.part) == (most == 1), "a commit of two files is larger than a byte"
        assert list(dict.fromkeys(cuts)) == [instants[end] for end in ends]
        assert sorted(values) == [v for pair in VALUES for v in pair]


@pytest.mark.parametrize("table_type", TableType)
def test_as_of_an_instant_and_what_a_commit_says_it_wrote(
    spark: SparkSession, tmp_path: Path, table_type: TableType
) -> None:
    settings = Settings(base_path=str(tmp_path))
    layout = TableLayout(name="cells", record_key="k", form=StorageForm.KEYED, buckets=2, type=table_type)
    states, done = [dict.fromkeys(range(20), 0)], []
    steps = [[(k, 0, False) for k in range(20)], [(1, 5, False), (2, 0, True), (30, 1, False)], [(1, 0, True)]]
    for number, rows in enumerate(steps):
        rows_df = spark.createDataFrame(rows, "k int, v int, _hoodie_is_deleted boolean")
        done.append(commit(rows_df, layout, metadata={}, settings=settings, is_first=number == 0))
        states.append(dict(states[-1]))
        for key, value, is_deleted in rows:
            states[-1].pop(key, None) if is_deleted else states[-1].update({key: value})
    for state, write_done in zip(states[1:], done, strict=True):
        rows_df = read_as_of(spark, settings.table_path("cells"), write_done.instant)
        assert rows_df.columns == ["k", "v"]
        assert {row.k: row.v for row in rows_df.collect()} == state
    assert read_snapshot(spark, settings.table_path("cells")).columns == ["k", "v"]
    assert [write_done.rows for write_done in done] == [20, 3, 1]
