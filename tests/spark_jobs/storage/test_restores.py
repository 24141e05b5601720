"""Restores that were cut off: which savepoint each leads to, who has to wait, and what is left of a removal.

Tables are made by hand: commits 1 to 5, savepoints at 2 and 3. Hudi's plans are made as it writes them, in Avro.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import RestoreUnfinishedError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.restores import (
    PendingRestore,
    Restores,
    TablePlan,
    check_needless,
    check_no_restore,
    drop_plans,
    read_plan,
    remove_table,
    savepoint_of,
)
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at
from tests.support.restores import restore_plan

TABLES = ("units", "agents")


class Made:
    """Two tables and the records of three savepoints, the newest state last."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(base_path=str(folder), lease_wait_seconds=0)
        self.tables = {
            name: MadeTable(TableLayout(name=name, record_key="id", form=StorageForm.KEYED), folder / name)
            for name in TABLES
        }
        for table in self.tables.values():
            table.commits(1, 2, 3, 4, 5).commits(2, 3, action="savepoint")
        self.records = {id_: self.record(id_, number) for id_, number in (("early", 2), ("late", 3))}
        for record in self.records.values():
            SavepointRecords(self.settings).write(record)

    def record(self, id_: str, number: int) -> Record:
        states = dict.fromkeys(TABLES, at(number))
        return Record(id=id_, made_at=str(number), made_by="savepoint", what="", tables=states)

    def timeline(self, name: str = "units") -> Timeline:
        return Timeline(table=name, path=self.settings.table_path(name))

    def cut_off(self, name: str, *instants: int, back_to: int) -> None:
        file = self.tables[name].folder / ".hoodie" / f"{at(9)}.restore.requested"
        file.write_bytes(restore_plan([at(number) for number in instants], at(back_to)))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_hudis_plan_says_where_it_goes_and_what_it_takes_away(made: Made):
    assert read_plan(made.timeline()) is None
    made.cut_off("units", 5, 4, back_to=3)
    assert read_plan(made.timeline()) == TablePlan(instants=(at(5), at(4)), back_to=at(3))
    made.cut_off("units", back_to=3)
    assert read_plan(made.timeline()) == TablePlan(instants=(), back_to=at(3))


@pytest.mark.parametrize(
    ("instants", "is_right"),
    [((5, 4), True), ((5,), True), ((), True), ((4, 5), False), ((5, 4, 3), False), ((5, 1), False), ((1, 5), False)],
)
def test_a_plan_by_wrong_times_takes_away_too_much_or_in_another_order(instants: tuple[int, ...], is_right: bool):
    plan = TablePlan(instants=tuple(map(at, instants)), back_to=at(3))
    assert plan.is_right is is_right


def test_the_savepoint_is_known_by_what_was_written_down_or_by_hudis_plan(made: Made):
    assert savepoint_of(made.timeline(), made.settings) == ""
    made.cut_off("units", 5, 4, 3, back_to=2)
    assert savepoint_of(made.timeline(), made.settings) == "early"
    made.cut_off("units", 5, 4, back_to=3)
    assert savepoint_of(made.timeline(), made.settings) == "late"
    (Path(made.settings.base_path) / ".savepoints/late.json").unlink()
    assert savepoint_of(made.timeline(), made.settings) == "", "an erasure of an earlier release deleted it"
    no_spark: Any = None
    with pytest.raises(RestoreUnfinishedError, match=f"units: a restore that began at {at(9)} was cut off; .* doctor"):
        settled_timeline(no_spark, "units", made.settings)


def test_the_error_for_a_table_of_it_names_the_command(made: Made):
    made.cut_off("agents", 5, 4, back_to=3)
    no_spark: Any = None
    with pytest.raises(RestoreUnfinishedError, match="once more: restore --to late --yes"):
        settled_timeline(no_spark, "agents", made.settings)
    settled_timeline(no_spark, "units", made.settings)


@pytest.mark.parametrize("table", [None, *TABLES])
@pytest.mark.parametrize("is_noted", [True, False])
def test_nothing_else_begins_while_one_is_unfinished_and_it_alone_goes_on(
    made: Made, table: str | None, *, is_noted: bool
):
    if is_noted:
        Restores(made.settings).begin(PendingRestore(savepoint="late", begun="2026-01-01T00:00:00Z"))
    if table:
        made.cut_off(table, 5, 4, back_to=3)
    early, late = made.records["early"], made.records["late"]
    check_needless(early, made.settings)
    if not is_noted and not table:
        check_no_restore(made.settings, TABLES)
        check_needless(late, made.settings)
        return
    for wrong in (None, early):
        with pytest.raises(RestoreUnfinishedError, match="restore --to late --yes"):
            check_no_restore(made.settings, TABLES, but=wrong)
    check_no_restore(made.settings, TABLES, but=late)
    with pytest.raises(RestoreUnfinishedError, match="restore --to late --yes"):
        check_needless(late, made.settings)


def test_it_is_unfinished_until_it_says_that_it_has_ended(made: Made):
    restores = Restores(made.settings)
    assert restores.pending() is None
    for hour in (1, 2):
        restores.begin(PendingRestore(savepoint="late", begun=f"2026-01-01T0{hour}:00:00Z"))
    assert restores.pending() == PendingRestore(savepoint="late", begun="2026-01-01T01:00:00Z"), "when it first began"
    restores.finish()
    restores.finish()
    assert restores.pending() is None


def test_a_plan_that_is_dropped_counts_until_its_last_file_is_gone(made: Made, monkeypatch: pytest.MonkeyPatch):
    made.cut_off("units", 4, 5, back_to=3)
    (made.tables["units"].folder / ".hoodie" / f"{at(9)}.restore.inflight").touch()
    seen, real = list[tuple[Instant, ...]](), Filesystem.delete

    def look(files: Filesystem, path: str) -> None:
        seen.append(made.timeline().pending_restores)
        real(files, path)

    monkeypatch.setattr(Filesystem, "delete", look)
    drop_plans(made.timeline())
    assert seen == [(at(9),), (at(9),)]
    assert made.timeline().pending_restores == ()


def test_a_removal_that_is_cut_off_leaves_nothing_that_a_job_takes_for_a_table(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It dies before each file and folder; the table is no job's then, and the next one goes on to the end."""
    folder, whole, no_spark = made.tables["units"].folder, tmp_path / "whole", None
    made.tables["units"].base("a", 3).base("b", 4, partition="day=1").logs("a", 3, 2)
    (folder / ".hoodie/.temp").mkdir()
    folder.rename(whole)
    real = {name: getattr(Filesystem, name) for name in ("delete", "delete_tree")}
    deaths = 0
    for dies_at in range(40):
        left = [dies_at]
        shutil.copytree(whole, folder)

        def step(name: str, left: list[int] = left) -> Any:
            def do(files: Filesystem, path: str = "") -> None:
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] -= 1
                real[name](files, path)

            return do

        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(Filesystem, name, step(name))
            try:
                remove_table(str(folder))
                break
            except KeyboardInterrupt:
                deaths += 1
        session: Any = no_spark
        with pytest.raises(RestoreUnfinishedError):
            settled_timeline(session, "units", made.settings)
        remove_table(str(folder))
        assert not folder.exists()
    assert deaths > 3
    assert not folder.exists()
