"""The newest files of partitions, on made tables: when they are certain, and when Hudi has to find the rows.

A log of two days; commits 10 and 20 added a file each to the first one, 20 one to the second.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.storage import latest_files as module
from spark_jobs.storage.latest_files import latest_files
from spark_jobs.storage.timeline import Timeline
from tests.support.made_logs import LOG
from tests.support.made_tables import MadeTable, at

FIRST, SECOND, NEVER = "event_date=2026-01-01", "event_date=2026-01-02", "event_date=2026-01-03"


def add_property(made: MadeTable, line: str) -> None:
    with (made.folder / ".hoodie/hoodie.properties").open("a") as file:
        file.write(f"{line}\n")


@pytest.fixture
def log(tmp_path: Path) -> MadeTable:
    made = MadeTable(LOG, tmp_path / "log").commits(10, 20, action="commit")
    add_property(made, "hoodie.datasource.write.hive_style_partitioning=true")
    add_property(made, "hoodie.table.partition.fields=event_date")
    (tmp_path / "log" / FIRST).mkdir()
    (tmp_path / "log" / FIRST / ".hoodie_partition_metadata").touch()
    made.base("a", 10, partition=FIRST, size=3).base("b", 20, partition=FIRST, size=4)
    return made.base("c", 20, partition=SECOND, size=5)


def found(made: MadeTable, *partitions: str, up_to: int = 99) -> list[tuple[str, int]] | None:
    """Of these partitions, or of all of the table."""
    files = latest_files(Timeline(table="log", path=str(made.folder)), partitions or None, as_of=at(up_to))
    return None if files is None else sorted((path.replace("_0-1-2_", "@"), file.size) for path, file in files.items())


def test_those_of_the_partitions_that_are_named(log: MadeTable) -> None:
    first = [(f"{FIRST}/a@{at(10)}.parquet", 3), (f"{FIRST}/b@{at(20)}.parquet", 4)]
    assert found(log, FIRST) == first
    assert found(log, FIRST, SECOND) == [*first, (f"{SECOND}/c@{at(20)}.parquet", 5)]
    assert found(log, NEVER) == []
    assert latest_files(Timeline(table="log", path=str(log.folder)), []) == {}


def test_those_of_all_partitions(log: MadeTable) -> None:
    assert found(log) == found(log, FIRST, SECOND)
    (log.folder / SECOND / "more").mkdir()
    assert found(log) == found(log, FIRST, SECOND)
    log.base("f", 20, partition=f"{SECOND}/more")
    assert found(log) is None, "a folder in a folder"


def test_partitions_in_partitions_are_left_to_hudi(log: MadeTable) -> None:
    add_property(log, "hoodie.table.partition.fields=event_date,hour")
    assert found(log) is None
    assert found(log, FIRST) is not None


def test_those_of_a_table_without_partitions(tmp_path: Path) -> None:
    made = MadeTable(LOG, tmp_path / "mart").commits(10, 20, action="commit").base("a", 10, size=7).base("a", 20)
    assert found(made) == [(f"a@{at(20)}.parquet", 1)]
    assert found(made, up_to=19) == [(f"a@{at(10)}.parquet", 7)]
    made.base("b", 20, partition="day=1")
    assert found(made) is None, "a folder that no partition is named by"


def test_those_of_an_earlier_commit(log: MadeTable) -> None:
    log.commits(30, action="replacecommit", operationType="CLUSTER", partitionToReplaceFileIds={FIRST: ["a", "b"]})
    log.base("d", 30, partition=FIRST).base("e", 40, partition=FIRST)
    assert found(log, FIRST, up_to=10) == [(f"{FIRST}/a@{at(10)}.parquet", 3)]
    assert found(log, FIRST, up_to=20) == [(f"{FIRST}/a@{at(10)}.parquet", 3), (f"{FIRST}/b@{at(20)}.parquet", 4)]
    assert found(log, FIRST, up_to=30) == [(f"{FIRST}/d@{at(30)}.parquet", 1)]
    assert found(log, FIRST) is None, "a writer that was rolled back"


def test_of_a_file_group_the_newest_that_is_committed(log: MadeTable) -> None:
    log.commits(30, action="commit").base("a", 30, partition=FIRST)
    log.pending(40, "commit").base("b", 40, partition=FIRST)
    assert found(log, FIRST) == [(f"{FIRST}/a@{at(30)}.parquet", 1), (f"{FIRST}/b@{at(20)}.parquet", 4)]


def test_none_of_a_file_group_that_was_replaced(log: MadeTable) -> None:
    log.base("d", 30, partition=FIRST)
    log.commits(30, action="replacecommit", operationType="CLUSTER", partitionToReplaceFileIds={FIRST: ["a", "b"]})
    assert found(log, FIRST) == [(f"{FIRST}/d@{at(30)}.parquet", 1)]


def test_a_file_of_a_commit_that_was_archived_is_one_of_the_table(log: MadeTable) -> None:
    log.base("old", 5, partition=SECOND)
    assert found(log, SECOND) == [(f"{SECOND}/c@{at(20)}.parquet", 5), (f"{SECOND}/old@{at(5)}.parquet", 1)]


def test_what_is_not_certain_is_left_to_hudi(log: MadeTable, monkeypatch: pytest.MonkeyPatch) -> None:
    log.base("zombie", 15, partition=SECOND)
    assert found(log, SECOND) is None, "a writer that was rolled back"
    assert found(log, FIRST) is not None
    log.logs("a", 10, 1, partition=FIRST)
    assert found(log, FIRST) is None, "a log file"
    (log.folder / NEVER).mkdir()
    (log.folder / NEVER / "part-0.parquet").touch()
    assert found(log, NEVER) is None, "a file of another writer"
    monkeypatch.setattr(module, "_MOST_FOLDERS", 1)
    assert found(log, "event_date=2026-01-04", "event_date=2026-01-05") is None, "many folders"


def test_two_files_of_one_group_and_commit_are_left_to_hudi(log: MadeTable) -> None:
    (log.folder / SECOND / f"c_0-2-3_{at(20)}.parquet").touch()
    assert found(log, SECOND) is None


@pytest.mark.parametrize("name", ["hive_style_partitioning", "COPY_ON_WRITE"])
def test_a_table_of_another_form_is_left_to_hudi(log: MadeTable, name: str) -> None:
    """Its folders may have other names: none of them being there would say that it has no rows."""
    file = log.folder / ".hoodie/hoodie.properties"
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if name not in line))
    assert found(log, FIRST) is None
    assert found(log, NEVER) is None


def test_a_path_that_spark_takes_for_a_pattern_is_left_to_hudi(log: MadeTable) -> None:
    moved = log.folder.rename(log.folder.with_name("log[1]"))
    assert latest_files(Timeline(table="log", path=str(moved)), [FIRST]) is None
