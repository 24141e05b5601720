"""What is at rest, what is not, and what is swept away; on tables made by hand. tests/faults does it to real ones."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import RestoreUnfinishedError, TableBusyError, TableVersionError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage import recovery
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.recovery import roll_back_dead_writes, settled_timeline, settled_timelines
from spark_jobs.storage.timeline import Timeline
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)


@pytest.fixture
def units(tmp_path: Path) -> MadeTable:
    return MadeTable(UNITS, tmp_path / "units").commits(3, 4)


def settle(table: MadeTable) -> None:
    settle_below(table.folder.parent)


def settle_below(base: Path) -> None:
    no_spark: Any = None
    settled_timeline(no_spark, "units", Settings(base_path=str(base), lease_wait_seconds=0))


def make_markers(table: MadeTable, *numbers: int) -> None:
    for number in numbers:
        (table.folder / recovery.MARKERS / at(number)).mkdir(parents=True)


def markers(table: MadeTable) -> set[str]:
    return {path.name for path in (table.folder / recovery.MARKERS).iterdir()}


def test_markers_of_what_committed_or_is_gone_are_swept_and_those_of_a_service_stay(units: MadeTable):
    units.pending(6, "compaction")
    make_markers(units, 4, 5, 6)
    settle(units)
    assert markers(units) == {at(6)}


def test_while_something_is_rolled_back_no_markers_are_swept(units: MadeTable):
    """It finds the files of a dead write by them."""
    units.pending(7, "rollback")
    make_markers(units, 5)
    settle(units)
    assert markers(units) == {at(5)}


def test_a_rollback_that_got_no_further_for_long_is_ended(units: MadeTable, monkeypatch: pytest.MonkeyPatch):
    requested = units.folder / ".hoodie" / f"{at(7)}.rollback.requested"
    make_markers(units, 5)

    def roll_back(_spark: object, timeline: Timeline) -> None:
        assert (timeline.table, timeline.path) == ("units", str(units.folder))
        requested.unlink()

    monkeypatch.setattr(recovery, "roll_back_dead_writes", roll_back)
    units.pending(7, "rollback")
    settle(units)
    assert requested.exists(), "it is young"
    long_ago = time.time() - 1000
    os.utime(requested, (long_ago, long_ago))
    settle(units)
    assert not requested.exists()
    assert markers(units) == set()


@pytest.mark.parametrize(
    ("beside", "is_left"),
    [((), False), ((6, "compaction"), True), ((5, "replacecommit"), True)],
    ids=["alone", "a plan", "a write"],
)
def test_a_rollback_that_hudi_leaves_at_its_end_is_removed(
    units: MadeTable, monkeypatch: pytest.MonkeyPatch, beside: tuple[Any, ...], *, is_left: bool
) -> None:
    """Of a write that replaces files, whose own instant is gone already; with one that is there, Hudi ends it."""
    monkeypatch.setattr(recovery, "roll_back_dead_writes", lambda *_: None)
    units.pending(7, "rollback")
    if beside:
        units.pending(*beside)
    states = [units.folder / ".hoodie" / f"{at(7)}.rollback.{state}" for state in ("requested", "inflight")]
    make_markers(units, 5)
    for state in states:
        state.touch()
        os.utime(state, (1, 1))
    with suppress(TableBusyError):
        settle(units)
    assert [state.exists() for state in states] == [is_left] * 2
    assert (markers(units) == {at(5)}) is is_left


@pytest.mark.parametrize("is_local", [True, False])
def test_on_a_store_markers_of_a_rollback_that_was_cut_off_go_before_it_is_tried_again(
    units: MadeTable, monkeypatch: pytest.MonkeyPatch, *, is_local: bool
):
    """Hudi looks for the log files that they name on the local disk, and fails. Those of the dead write it needs."""
    units.pending(6, "deltacommit").pending(7, "rollback")
    make_markers(units, 6, 7)
    monkeypatch.setattr(Timeline, "is_local", property(lambda _: is_local))
    there = list[set[str]]()

    def clean(*_: object, **__: object) -> None:
        there.append(markers(units))

    monkeypatch.setattr(recovery, "call", clean)
    no_spark: Any = None
    roll_back_dead_writes(no_spark, Timeline(table="units", path=str(units.folder)))
    assert there == [{at(6), at(7)} if is_local else {at(6)}]


def test_no_writer_goes_on_with_a_table_whose_restore_was_cut_off(units: MadeTable):
    units.pending(7, "restore")
    with pytest.raises(
        RestoreUnfinishedError, match=f"units: a restore that began at {at(7)} was cut off; run the same"
    ):
        settle(units)


@pytest.mark.parametrize("made", [".hoodie", ".hoodie/.temp"])
def test_what_is_left_of_a_creation_that_died_is_removed_once_it_is_quiet(tmp_path: Path, made: str):
    """Hudi takes a folder ``.hoodie`` for a table and fails for want of its properties."""
    (tmp_path / "units" / made).mkdir(parents=True)
    with pytest.raises(TableBusyError):
        settle_below(tmp_path)
    long_ago = time.time() - 1000
    for path in (tmp_path / "units").rglob("*"):
        os.utime(path, (long_ago, long_ago))
    settle_below(tmp_path)
    assert not (tmp_path / "units").exists()


class Engine(MadeEngine):
    """Rolls back as Hudi does what has no heartbeat."""

    def _run_clean(self, timeline: Path, **given: str) -> None:
        assert int(given["retain_commits"]) > 100_000, "it would clean what is still read"
        super()._run_clean(timeline, **given)


def begin(table: MadeTable, *numbers: int, is_alive: bool) -> None:
    for number in numbers:
        table.pending(number, "deltacommit")
        if is_alive:
            heartbeat = table.folder / ".hoodie/.heartbeat" / at(number)
            heartbeat.parent.mkdir(exist_ok=True)
            heartbeat.touch()


def test_of_two_that_are_unfinished_the_dead_one_is_rolled_back_and_the_other_waited_for(units: MadeTable):
    begin(units, 5, is_alive=False)
    begin(units, 6, 7, is_alive=True)
    engine: Any = Engine()
    settings = Settings(base_path=str(units.folder.parent), lease_wait_seconds=0)
    with pytest.raises(TableBusyError) as caught:
        settled_timeline(engine, "units", settings)
    assert caught.value.holder == f"pending {at(6)}, {at(7)}"
    assert all((units.folder / ".hoodie/.heartbeat" / at(number)).is_file() for number in (6, 7)), "they are at work"
    units.commits(6)
    (units.folder / ".hoodie/.heartbeat" / at(7)).unlink()
    settled = settled_timeline(engine, "units", settings)
    assert [write.time for write in settled.writes] == [at(3), at(4), at(6)]
    assert settled.pending == frozenset()


def test_a_table_at_rest_is_taken_as_it_is(units: MadeTable):
    """A plan that waits is no unfinished write, and nothing is cleaned for it."""
    units.pending(5, "compaction").pending(6, "replacecommit", "..CLUSTER..")
    engine: Any = Engine(fails_at=0)
    settled = settled_timeline(engine, "units", Settings(base_path=str(units.folder.parent), lease_wait_seconds=0))
    assert settled.last == at(4)
    units.pending(7, "replacecommit", "..INSERT_OVERWRITE..")
    with pytest.raises(KeyboardInterrupt):
        settled_timeline(engine, "units", Settings(base_path=str(units.folder.parent), lease_wait_seconds=0))


def test_tables_are_settled_each_by_itself_and_given_in_their_order(tmp_path: Path):
    """Among them one that is not there; one that is of another version stops the job before anything is written."""
    for name, number in (("units", 5), ("agents", 3), ("sales", 4)):
        MadeTable(replace(UNITS, name=name), tmp_path / name).commits(number)
    engine: Any = Engine(fails_at=0)
    settings, names = Settings(base_path=str(tmp_path), lease_wait_seconds=0), ("units", "nowhere", "agents", "sales")
    found = settled_timelines(engine, names, settings)
    assert [(each.table, each.last) for each in found] == [*zip(names, [at(5), None, at(3), at(4)], strict=True)]
    (tmp_path / "sales/.hoodie/hoodie.properties").write_text("hoodie.table.version=9\n")
    with pytest.raises(TableVersionError, match="sales: the table on disk has Hudi table version 9"):
        settled_timelines(engine, names, settings)


def test_a_rollback_is_dead_when_none_of_its_files_changed_for_long(units: MadeTable):
    """There may be several, and each has two states: one of them that is young is enough to wait."""
    folder = units.folder / ".hoodie"
    names = [f"{at(number)}.rollback.{state}" for number in (7, 8) for state in ("requested", "inflight")]
    long_ago = time.time() - 1000
    for young in (*names, None):
        for name in names:
            (folder / name).touch()
            os.utime(folder / name, None if name == young else (long_ago, long_ago))
        engine: Any = Engine(fails_at=0)
        settings = Settings(base_path=str(units.folder.parent), lease_wait_seconds=0)
        if young:
            assert settled_timeline(engine, "units", settings).last == at(4)
        else:
            with pytest.raises(KeyboardInterrupt):
                settled_timeline(engine, "units", settings)
