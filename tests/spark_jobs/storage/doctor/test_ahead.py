"""Commits that are later than now: which are taken off, what is committed again, and on a real table that it is all.

Of the real table both commits count as later than now, because the machine's clock is set ten years earlier.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.clocks import commits_ahead
from spark_jobs.storage.doctor import ahead
from spark_jobs.storage.doctor.ahead import (
    WayBack,
    carry_metadata,
    check_kept,
    refusal,
    take_off,
    was_committed,
    way_back,
)
from spark_jobs.storage.kept_rows import AHEAD_FOLDER
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at
from tests.support.numbered_tables import LOG, MERGED, NumberedTable

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
LONG_AGO = datetime(2016, 1, 1, tzinfo=UTC)


def test_what_cannot_be_read_again_is_committed_again():
    spec = load_lake_spec(Settings().lake_spec)
    again = {table for table in spec.table_names if way_back(spec, table) is WayBack.COMMITTED_AGAIN}
    assert again == {spec.log, spec.quarantine, spec.quality.table}
    assert way_back(spec, "sales") is WayBack.COMPUTED_AGAIN
    company = load_lake_spec(str(Path(Settings().lake_spec).with_name("company.yaml")))
    assert {way_back(company, load.name) for load in company.loads} == {WayBack.KEPT}


def refused(table: MadeTable, way: WayBack) -> str:
    timeline = Timeline(table="units", path=str(table.folder))
    return refusal(timeline, timeline.writes, way)


def test_what_a_person_has_to_decide_is_refused_with_the_reason(tmp_path: Path):
    plain = MadeTable(UNITS, tmp_path / "a").commits(3)
    assert [refused(plain, way) for way in WayBack] == ["", "", "its rows came from files"]
    service = MadeTable(UNITS, tmp_path / "b").commits(3, operationType="COMPACT")
    assert refused(service, WayBack.COMPUTED_AGAIN) == f"{at(3)} is of a table service"
    removal = MadeTable(UNITS, tmp_path / "c").commits(3, operationType="DELETE")
    assert refused(removal, WayBack.COMMITTED_AGAIN) == f"{at(3)} removed rows"
    assert refused(removal, WayBack.COMPUTED_AGAIN) == ""
    (plain.folder / ".hoodie" / f"{at(3)}.savepoint").touch()
    assert refused(plain, WayBack.COMPUTED_AGAIN) == f"savepoints keep {at(3)}; delete them first"


def test_the_new_commit_has_the_metadata_of_the_old_one_and_where_it_comes_from(tmp_path: Path):
    stored = {"lakehouse.landing_ledger": "x", "lakehouse.run": "1", "lakehouse.buckets": "2", "schema": "y"}
    stored["lakehouse.task"] = "of the run that wrote the old one"
    again = carry_metadata(stored, at(9))
    assert again == {"landing_ledger": "x", "moved_from": at(9)}
    metadata = {f"lakehouse.{key}": text for key, text in again.items()}
    table = MadeTable(UNITS, tmp_path / "units").commits(3, extraMetadata=metadata)
    timeline = Timeline(table="units", path=str(table.folder))
    assert (was_committed(timeline, at(9)), was_committed(timeline, at(8))) == (True, False)


def test_rows_of_a_repair_that_was_cut_off_are_reported(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    assert list(check_kept(settings)) == []
    (tmp_path / AHEAD_FOLDER / "log" / at(3)).mkdir(parents=True)
    (finding,) = check_kept(settings)
    assert (finding.table, finding.is_repairable) == ("log", True)
    assert at(3) in finding.what


@pytest.mark.hudi
def test_rows_of_commits_from_the_future_are_in_commits_of_now(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Cut off after both commits are gone, it is continued; the new commits have their metadata, in order."""
    table = NumberedTable(spark=spark, layout=LOG, settings=Settings(base_path=str(tmp_path)))
    table.put_all(0, 1)
    old = commits_ahead(table.timeline, LONG_AGO)
    assert len(old) == 2
    monkeypatch.setattr(ahead, "machine_now", lambda: LONG_AGO)
    with monkeypatch.context() as patch:
        patch.setattr(ahead, "_commit_kept", lambda *_: None)
        take_off(spark, LOG, WayBack.COMMITTED_AGAIN, table.settings)
    assert [*table.timeline.writes] == []
    assert [finding.table for finding in check_kept(table.settings)] == ["log"]
    monkeypatch.setattr(ahead, "machine_now", lambda: datetime.now(UTC))
    for _ in range(2):
        take_off(spark, LOG, WayBack.COMMITTED_AGAIN, table.settings)
        assert table.rows_by_spark() == table.expected(1)
        metadata = [table.timeline.metadata(write) for write in table.timeline.writes]
        assert [each["lakehouse.number"] for each in metadata] == ["0", "1"]
        assert [each["lakehouse.moved_from"] for each in metadata] == [write.time for write in old]
    assert min(write.time for write in table.timeline.writes) > old[-1].time
    assert list(check_kept(table.settings)) == []


@pytest.mark.hudi
def test_a_commit_whose_rows_have_another_time_is_not_taken_off(spark: SparkSession, tmp_path: Path):
    """As after a manual rename of its files on the timeline: nothing says which rows are its own."""
    table = NumberedTable(spark=spark, layout=LOG, settings=Settings(base_path=str(tmp_path)))
    table.put_all(0, 1)
    newest, timeline = table.timeline.writes[-1].time, Path(table.timeline.path) / ".hoodie"
    for file in timeline.glob(f"{newest}.*"):
        file.rename(timeline / file.name.replace(newest, f"2099{newest[4:]}"))
    with pytest.raises(ContractError, match=r"counts 10 rows, and 0 have its time, so it was not taken off; rename"):
        take_off(spark, LOG, WayBack.COMMITTED_AGAIN, table.settings)
    assert [write.time for write in table.timeline.writes][1:] == [f"2099{newest[4:]}"]
    assert list(check_kept(table.settings)) == []


@pytest.mark.hudi
def test_rows_that_a_commit_changed_are_as_they_were_before(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its values are in log files beside those of the commit before, and it has no markers any more."""
    table = NumberedTable(spark=spark, layout=MERGED, settings=Settings(base_path=str(tmp_path)))
    table.put_all(0, 2)
    monkeypatch.setattr(ahead, "commits_ahead", lambda timeline, now: timeline.writes[-1:])
    take_off(spark, MERGED, WayBack.COMPUTED_AGAIN, table.settings)
    assert len(table.timeline.writes) == 2
    assert table.rows_by_spark() == table.rows_by_rust() == table.expected(1)
    table.put(2)
    assert table.rows_by_spark() == table.rows_by_rust() == table.expected(2)
