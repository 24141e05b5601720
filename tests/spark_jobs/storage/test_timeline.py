"""The timeline as ``.hoodie`` has it, from hand-made folders of empty or small JSON files.

Version 6 names: ``<time>.<action>.requested``, ``<time>.<action>.inflight`` (a commit's is ``<time>.inflight``),
``<time>.<action>``. Instants here are 1 to 9, written with 17 digits.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, TableTypeError, TableVersionError
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.storage.reader import plan_pull
from spark_jobs.storage.timeline import Timeline

PROPERTIES = "#comment\nhoodie.table.version=6\nhoodie.table.name=units\n"


def at(number: int) -> Instant:
    return Instant(f"{number:017d}")


def timeline_of(root: Path, *names: str, **contents: dict[str, object]) -> Timeline:
    """A table whose ``.hoodie`` holds these files; a name begins with its number, content by number."""
    folder = root / "units" / ".hoodie"
    folder.mkdir(parents=True)
    (folder / "hoodie.properties").write_text(PROPERTIES)
    for name in names:
        number, rest = name.split(".", 1)
        text = json.dumps(contents[f"n{number}"]) if f"n{number}" in contents else ""
        (folder / f"{at(int(number))}.{rest}").write_text(text)
    return Timeline(table="units", path=str(root / "units"))


def test_a_table_that_is_not_there(tmp_path):
    timeline = Timeline(table="units", path=str(tmp_path / "units"))
    timeline.check_version()
    assert (timeline.exists, timeline.has_begun, timeline.writes, timeline.last) == (False, False, (), None)
    assert timeline.readable_up_to == BEGINNING
    assert timeline.newest_metadata("any") is None
    assert not timeline.holds(at(1))


@pytest.mark.parametrize("folder", [".hoodie", ".hoodie/.aux"])
def test_a_creation_that_was_cut_off_before_its_first_file_has_begun(tmp_path, folder):
    (tmp_path / "units" / folder).mkdir(parents=True)
    timeline = Timeline(table="units", path=str(tmp_path / "units"))
    assert (timeline.exists, timeline.has_begun, timeline.writes) == (False, True, ())


def test_completed_writes_are_in_order_and_services_are_no_writes(tmp_path):
    timeline = timeline_of(
        tmp_path,
        *("3.commit.requested", "3.inflight", "3.commit"),
        *("1.deltacommit.requested", "1.deltacommit.inflight", "1.deltacommit"),
        *("2.replacecommit", "4.clean.requested", "4.clean.inflight", "4.clean", "5.rollback", "6.savepoint"),
    )
    assert [(write.time, write.action) for write in timeline.writes] == [
        (at(n), a) for n, a in [(1, "deltacommit"), (2, "replacecommit"), (3, "commit")]
    ]
    assert (timeline.last, timeline.unfinished, timeline.pending_writes) == (at(3), (), ())


@pytest.mark.parametrize("pending", ["2.commit.requested", "2.inflight", "2.deltacommit.inflight"])
def test_a_consumer_stops_short_of_the_first_pending_write(tmp_path, pending):
    timeline = timeline_of(tmp_path, "1.commit", pending, "3.commit")
    assert (timeline.last, timeline.readable_up_to) == (at(3), at(1))
    assert timeline.pending_writes == timeline.unfinished == (at(2),)


def test_pending_services_hold_no_consumer_back(tmp_path):
    timeline = timeline_of(
        tmp_path, "1.deltacommit", "2.compaction.requested", "3.replacecommit.requested", "4.deltacommit"
    )
    assert timeline.readable_up_to == at(4)
    assert (timeline.pending_writes, timeline.unfinished) == ((), (at(3),))


def test_nothing_is_readable_below_a_pending_first_write(tmp_path):
    timeline = timeline_of(tmp_path, "1.commit.requested", "2.commit")
    assert timeline.readable_up_to == BEGINNING


def test_other_files_are_no_instants(tmp_path):
    timeline = timeline_of(tmp_path, "1.commit", "2.commit.crc", "3.commit.requested.tmp")
    (tmp_path / "units" / ".hoodie" / ".00000000000000009.commit.crc").write_text("")
    (tmp_path / "units" / ".hoodie" / "archived").mkdir()
    assert Timeline(table="units", path=timeline.path).last == at(1)


def test_metadata_comes_from_the_newest_commit_that_has_it(tmp_path):
    timeline = timeline_of(
        tmp_path,
        *("1.commit", "2.commit", "3.commit", "4.commit"),
        n1={"extraMetadata": {"checkpoint": "old", "ledger": "first"}},
        n2={"extraMetadata": {"checkpoint": "new"}},
        n3={"extraMetadata": None},
    )
    assert timeline.newest_metadata("checkpoint") == "new"
    assert timeline.newest_metadata("ledger") == "first"
    assert timeline.newest_metadata("unknown") is None


def test_rows_written_are_those_that_changed_in_all_files(tmp_path):
    carried_over = {"numWrites": 100, "numInserts": 1, "numUpdateWrites": 2, "numDeletes": 1}
    stats = {"a": [carried_over, {"numWrites": 3, "numInserts": 3}], "b": [{"numInserts": None}, {}]}
    timeline = timeline_of(tmp_path, "1.commit", "2.commit", n1={"partitionToWriteStats": stats})
    assert [timeline.rows_written(instant) for instant in timeline.writes] == [7, 0]


def test_rows_of_log_files_are_upserted_unless_the_writer_counted_them(tmp_path):
    """A row that Hudi puts into a log file counts as changed there, whether it was there or not."""
    base = {"path": "a/f_1.parquet", "numInserts": 5, "numUpdateWrites": 2, "numDeletes": 1}
    log_file = {"path": "a/.f_1.log.1_0-1-0", "numInserts": 1, "numUpdateWrites": 4, "numDeletes": 3}
    stats = {"a": [base, log_file], "b": [log_file]}
    counted = {"lakehouse.row_counts": '{"added":3,"changed":2,"removed":1,"upserted":0,"of_a_later_release":9}'}
    timeline = timeline_of(
        tmp_path,
        *("1.deltacommit", "2.deltacommit", "3.deltacommit", "4.deltacommit"),
        n1={"partitionToWriteStats": stats},
        n2={"partitionToWriteStats": stats, "extraMetadata": counted},
        n4={"extraMetadata": {"lakehouse.row_counts": "[]"}},
    )
    of_statistics, of_the_writer, of_nothing, broken = timeline.writes
    assert timeline.row_counts(of_statistics) == RowCounts(added=7, changed=2, removed=7, upserted=8)
    assert timeline.row_counts(of_the_writer) == RowCounts(added=3, changed=2, removed=1)
    assert timeline.row_counts(of_nothing) == RowCounts()
    with pytest.raises(ContractError, match="row_counts of a commit is no count of rows"):
        timeline.row_counts(broken)


def test_windows_leave_table_services_out(tmp_path):
    services = {"n2": "COMPACT", "n4": "LOG_COMPACT", "n5": "CLUSTER"}
    contents: dict[str, dict[str, object]] = {
        name: {"operationType": operation} for name, operation in services.items()
    }
    timeline = timeline_of(
        tmp_path,
        *("1.commit", "2.commit", "3.deltacommit", "4.deltacommit", "5.replacecommit", "6.replacecommit"),
        **contents,
        n3={"operationType": "UPSERT"},
        n6={"operationType": "INSERT_OVERWRITE"},
    )
    window = InstantRange(after=at(1), up_to=at(5))
    assert [write.time for write in timeline.writes_in(window)] == [at(n) for n in (2, 3, 4, 5)]
    assert [write.time for write in timeline.changes_in(window)] == [at(3)]
    everything = InstantRange(after=BEGINNING, up_to=at(9))
    assert [write.time for write in timeline.changes_in(everything)] == [at(n) for n in (1, 3, 6)]


@pytest.mark.parametrize(("instant", "is_held"), [(1, False), (3, True), (4, False), (5, True), (6, False), (7, False)])
def test_a_timeline_holds_its_completed_writes_and_nothing_between_them(tmp_path, instant, is_held):
    timeline = timeline_of(tmp_path, "3.commit", "4.clean", "5.deltacommit", "6.deltacommit.inflight", "7.rollback")
    assert timeline.holds(at(instant)) is is_held


def test_a_creation_that_was_cut_off_before_its_properties_were_written_is_no_other_version(tmp_path):
    timeline_of(tmp_path)
    (tmp_path / "units/.hoodie/hoodie.properties").write_text("")
    Timeline(table="units", path=str(tmp_path / "units")).check_version()
    (tmp_path / "units/.hoodie" / f"{at(1)}.commit").touch()
    with pytest.raises(TableVersionError, match="has Hudi table version none"):
        Timeline(table="units", path=str(tmp_path / "units")).check_version()


@pytest.mark.parametrize("version", ["5", "8", "9", ""])
def test_a_table_of_another_version_is_refused(tmp_path, version):
    timeline = timeline_of(tmp_path, "1.commit")
    timeline.check_version()
    (tmp_path / "units/.hoodie/hoodie.properties").write_text(f"hoodie.table.version={version}\n")
    with pytest.raises(TableVersionError, match=r"units: the table on disk has Hudi table version .* writes version 6"):
        Timeline(table="units", path=timeline.path).check_version()


def test_a_table_of_another_type_is_refused(tmp_path):
    timeline = timeline_of(tmp_path, "1.commit")
    (tmp_path / "units/.hoodie/hoodie.properties").write_text("hoodie.table.type=COPY_ON_WRITE\n")
    timeline.check_type("copy_on_write")
    with pytest.raises(TableTypeError, match="units: the table on disk is copy_on_write, its lake spec says merge_on"):
        timeline.check_type("merge_on_read")
    Timeline(table="units", path=str(tmp_path / "nowhere")).check_type("merge_on_read")


@pytest.mark.parametrize(
    ("after", "window", "is_resync"),
    [
        (BEGINNING, (BEGINNING, at(5)), False),
        (at(3), (at(3), at(5)), False),
        (at(4), (BEGINNING, at(5)), True),
        (at(5), (at(5), at(5)), False),
        (at(2), (BEGINNING, at(5)), True),
        (at(6), (BEGINNING, at(5)), True),
    ],
    ids=["first", "oldest", "restored away", "newest", "archived", "ahead after a restore"],
)
def test_a_pull_begins_where_it_was_or_reads_everything_and_says_so(tmp_path, after, window, is_resync):
    pull = plan_pull(timeline_of(tmp_path, "3.commit", "5.commit"), after=after)
    assert (pull.window.after, pull.window.up_to) == window
    assert bool(pull.resync_reason) is is_resync


@pytest.mark.parametrize(
    ("after", "operation", "is_resync"),
    [
        (1, "INSERT_OVERWRITE_TABLE", True),
        (1, "DELETE_PARTITION", True),
        (1, None, True),
        (1, "CLUSTER", False),
        (2, "INSERT_OVERWRITE_TABLE", False),
        (3, "INSERT_OVERWRITE_TABLE", False),
    ],
)
def test_a_pull_past_a_commit_that_rewrote_the_table_reads_everything(tmp_path, after, operation, is_resync):
    names = ("1.commit", "2.replacecommit", "3.commit", "4.replacecommit.requested")
    pull = plan_pull(timeline_of(tmp_path, *names, n2={"operationType": operation}), after=at(after))
    assert pull.window == InstantRange(after=BEGINNING if is_resync else at(after), up_to=at(3))
    wanted = f"units was rewritten at {at(2)}, after checkpoint {at(after)}" if is_resync else ""
    assert pull.resync_reason == wanted


def test_a_pull_from_a_log_that_is_gone_is_empty(tmp_path):
    pull = plan_pull(Timeline(table="units", path=str(tmp_path / "units")), after=at(4))
    assert pull.window.is_empty
