"""What is at rest, what is not, and what is swept away; on tables made by hand. tests/faults does it to real ones."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import RestoreUnfinishedError, TableBusyError
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.tables import TableType
from spark_jobs.storage import recovery
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.recovery import settled_timeline
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

    def roll_back(_spark: object, table: str, path: str) -> None:
        assert (table, path) == ("units", str(units.folder))
        requested.unlink()

    monkeypatch.setattr(recovery, "_roll_back_dead_writes", roll_back)
    units.pending(7, "rollback")
    settle(units)
    assert requested.exists(), "it is young"
    long_ago = time.time() - 1000
    os.utime(requested, (long_ago, long_ago))
    settle(units)
    assert not requested.exists()
    assert markers(units) == set()


def test_nobody_goes_on_with_a_table_whose_restore_was_cut_off(units: MadeTable):
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
