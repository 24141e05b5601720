"""Every commit is later than the one before it: what is ahead is refused, what is a little ahead is waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.clocks import MARGIN, CommitAheadError
from spark_jobs.contracts.instants import format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.clocks import await_turn, check_timeline, commits_ahead, engine_clock, newest_of
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from tests.support.job_counts import counting_jobs
from tests.support.made_tables import MadeTable

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def made(tmp_path: Path, *moments: datetime, plan: datetime | None = None) -> Timeline:
    table = MadeTable(UNITS, tmp_path / "units").commits(*(int(format_instant(moment)) for moment in moments))
    if plan:
        table.pending(int(format_instant(plan)), "compaction")
    return Timeline(table="units", path=str(table.folder))


@pytest.mark.parametrize("is_planned", [False, True])
def test_a_commit_or_a_plan_from_the_future_is_named_with_its_time(tmp_path: Path, is_planned: bool):
    future = NOW + timedelta(days=1)
    timeline = made(tmp_path, NOW, *([] if is_planned else [future]), plan=future if is_planned else None)
    with pytest.raises(CommitAheadError, match="units: its newest commit, 20261129120000000, is later than now"):
        check_timeline(timeline, NOW)
    check_timeline(timeline, future)
    assert [write.time for write in commits_ahead(timeline, NOW)] == ([] if is_planned else ["20261129120000000"])


def test_no_job_writes_a_table_whose_newest_commit_is_later_than_now(tmp_path: Path):
    """By the clock of this machine; a restore may, because it takes such commits away."""
    made(tmp_path, datetime(2200, 1, 1, tzinfo=UTC))
    no_spark: Any = None
    settings = Settings(base_path=str(tmp_path), lease_wait_seconds=0)
    with pytest.raises(CommitAheadError, match="doctor repair --table units"):
        settled_timeline(no_spark, "units", settings)
    assert settled_timeline(no_spark, "units", settings, may_be_ahead=True).newest == "22000101000000000"


class Clock:
    """An engine's clock, which goes on while a writer waits."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [-60, -0.001, 0, 0.001, 1, 299])
def test_a_writer_waits_until_its_commit_would_be_the_newest(tmp_path: Path, seconds: float):
    timeline = made(tmp_path, NOW + timedelta(seconds=seconds))
    clock = Clock(NOW)
    await_turn(timeline, clock.now, sleep=clock.sleep)
    assert format_instant(clock.moment) > newest_of(timeline)
    assert clock.moment - NOW == max(timedelta(seconds=seconds, milliseconds=1), timedelta())


def test_a_writer_does_not_wait_for_longer_than_clocks_may_differ(tmp_path: Path):
    timeline = made(tmp_path, NOW + MARGIN + timedelta(seconds=1))
    with pytest.raises(CommitAheadError):
        await_turn(timeline, lambda: NOW)


def test_a_table_without_commits_has_nothing_to_wait_for(tmp_path: Path):
    await_turn(Timeline(table="units", path=str(tmp_path)), lambda: NOW)


class Engine:
    """Says that it is an hour earlier than here, and counts its queries."""

    queries = 0

    def sql(self, _text: str) -> Engine:
        self.queries += 1
        return self

    def collect(self) -> list[tuple[int]]:
        return [(int((datetime.now(UTC) - timedelta(hours=1)).timestamp() * 1000),)]


def test_the_engines_clock_counts_and_is_queried_once_in_a_while():
    engine: Any = Engine()
    for _ in range(3):
        behind = datetime.now(UTC) - engine_clock(engine)()
        assert abs(behind - timedelta(hours=1)) < timedelta(minutes=1)
    assert engine.queries == 1


@pytest.mark.spark
def test_the_engines_clock_is_read_without_a_spark_job(spark: SparkSession) -> None:
    with counting_jobs(spark) as jobs:
        assert abs(datetime.now(UTC) - engine_clock(spark.newSession())()) < timedelta(minutes=1)
        assert jobs.names() == []
