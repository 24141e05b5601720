"""What the doctor says of restores that were cut off, of lakes that were copied, and of undeclared tables.

The advice on a restore is a command line; tests/laws/test_ways_out.py follows it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.commit_times import MOVED
from spark_jobs.storage.doctor.checks import check_restores, check_undeclared_tables, check_version
from spark_jobs.storage.doctor.findings import Ailment
from spark_jobs.storage.doctor.repair import end_lost_restore, mend_times, remove
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.restores import PendingRestore, Restores
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.timeline import Timeline
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at
from tests.support.restores import restore_plan

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
SPEC = load_lake_spec(Settings().lake_spec)
TIMES = [Instant(f"2020010100000{second}000") for second in range(4)]


class Made:
    """A table with the commits 1 to 4 and a savepoint at 2."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(base_path=str(folder), lease_wait_seconds=0)
        self.units = MadeTable(UNITS, folder / "units").commits(1, 2, 3, 4).commits(2, action="savepoint")
        self.engine = MadeEngine()
        record = Record(id="day", made_at="1", made_by="savepoint", what="", tables={"units": at(2)})
        SavepointRecords(self.settings).write(record)

    def timeline(self) -> Timeline:
        return Timeline(table="units", path=self.settings.table_path("units"))

    def cut_off(self, *instants: int) -> None:
        file = self.units.folder / ".hoodie" / f"{at(9)}.restore.requested"
        file.write_bytes(restore_plan([at(number) for number in instants], at(2)))

    def lose_savepoint(self) -> None:
        """As an erasure of an earlier release did."""
        session: Any = self.engine
        SavepointRecords(self.settings).release(session, SavepointRecords(self.settings).read("day"))

    def found(self) -> list[tuple[str, Ailment, str, bool]]:
        findings = check_restores({"units": self.timeline()}, self.settings)
        return [(each.table, each.ailment, each.then, each.is_repairable) for each in findings]

    @property
    def services(self) -> TableServices:
        session: Any = self.engine
        clock: Any = None
        return TableServices(spark=session, layout=UNITS, targets=ServiceTargets(), settings=self.settings, clock=clock)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_a_restore_is_named_with_the_command_that_ends_it(made: Made):
    assert made.found() == []
    command = "lakehouse restore day --yes"
    made.cut_off(4, 3)
    assert made.found() == [("units", Ailment.PENDING_RESTORE, command, False)]
    Restores(made.settings).begin(PendingRestore(savepoint="day", begun="2026-01-01T00:00:00Z"))
    expected = [("", Ailment.PENDING_RESTORE, command, False), ("units", Ailment.PENDING_RESTORE, command, False)]
    assert made.found() == expected
    end_lost_restore(made.services)
    assert made.engine.calls == [], "a person ends it"


def test_one_whose_savepoint_is_gone_is_ended_by_the_repair(made: Made):
    """It needs a savepoint to go to, which is made for it and goes again."""
    made.cut_off(4, 3)
    made.lose_savepoint()
    ((table, ailment, then, is_repairable),) = made.found()
    assert (table, ailment, is_repairable) == ("units", Ailment.LOST_RESTORE, True)
    assert then.startswith("lakehouse doctor repair ends it")
    made.engine.calls.clear()
    end_lost_restore(made.services)
    assert [call[0] for call in made.engine.calls] == ["create_savepoint", "rollback_to_savepoint", "delete_savepoint"]
    assert [write.time for write in made.timeline().writes] == [at(1), at(2)]
    assert (made.found(), made.timeline().savepoints) == ([], frozenset())


def test_one_of_the_lake_whose_savepoint_is_gone_is_forgotten(made: Made):
    made.lose_savepoint()
    Restores(made.settings).begin(PendingRestore(savepoint="day", begun="2026-01-01T00:00:00Z"))
    (finding,) = check_restores({"units": made.timeline()}, made.settings)
    assert (finding.table, finding.ailment, finding.is_repairable) == ("", Ailment.LOST_RESTORE, True)
    remove(made.settings.base_path, finding.paths)
    assert made.found() == []


def test_one_that_goes_to_no_commit_of_the_table_is_forgotten(made: Made):
    made.lose_savepoint()
    file = made.units.folder / ".hoodie" / f"{at(9)}.restore.requested"
    file.write_bytes(restore_plan([at(4)], at(7)))
    made.engine.calls.clear()
    end_lost_restore(made.services)
    assert (made.engine.calls, made.found()) == ([], [])
    assert len(made.timeline().writes) == 4


def test_undeclared_tables_are_named(made: Made):
    made.units.folder.rename(Path(made.settings.base_path) / "old_units")
    (finding,) = check_undeclared_tables(SPEC, made.settings)
    assert (finding.table, finding.ailment, finding.is_repairable) == ("old_units", Ailment.UNDECLARED_TABLE, False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A table of which four commits and two versions of a file group were copied without their times."""
    folder = tmp_path / "copied" / "units"
    table = MadeTable(UNITS, folder)
    for number, instant in enumerate(TIMES):
        (folder / ".hoodie" / f"{instant}.{'commit' if number == 2 else 'deltacommit'}").write_text("{}")
    for instant in (TIMES[0], TIMES[2]):
        (folder / f"a_0-1-2_{instant}.parquet").touch()
        (folder / f".a_{instant}.log.1_0-1-2").touch()
    (folder / ".hoodie" / f"{TIMES[1]}.savepoint").touch()
    assert table.folder == folder
    return folder


def services_of(folder: Path) -> tuple[TableServices, MadeEngine]:
    engine, clock = MadeEngine(), None
    settings = Settings(base_path=str(folder.parent), lease_wait_seconds=0)
    record = Record(id="day", made_at="1", made_by="savepoint", what="", tables={"units": TIMES[1]})
    SavepointRecords(settings).write(record)
    session: Any = engine
    no_clock: Any = clock
    return TableServices(
        spark=session, layout=UNITS, targets=ServiceTargets(), settings=settings, clock=no_clock
    ), engine


def look(folder: Path) -> list[Ailment]:
    return [each.ailment for each in check_version(Timeline(table="units", path=str(folder)))]


def test_a_copied_table_is_named_and_gets_its_times_on_local_files(copied: Path):
    services, engine = services_of(copied)
    assert look(copied) == [Ailment.TIMES]
    mend_times(services)
    assert (look(copied), engine.calls) == ([], [])
    assert len(list(copied.glob("a_*.parquet"))) == 2, "every state is still there"
    assert SavepointRecords(services.settings).find("day")


def test_where_times_cannot_be_set_older_states_go_with_their_savepoints(copied: Path, monkeypatch: pytest.MonkeyPatch):
    services, engine = services_of(copied)
    monkeypatch.setattr(Timeline, "is_local", False)
    mend_times(services)
    assert [call[:2] for call in engine.calls] == [("delete_savepoint", "units")]
    assert SavepointRecords(services.settings).all() == []
    assert sorted(file.name for file in copied.glob("*a_*")) == [
        f".a_{TIMES[2]}.log.1_0-1-2",
        f"a_0-1-2_{TIMES[2]}.parquet",
    ]
    assert (copied / ".hoodie" / f"{MOVED}{TIMES[3]}").exists()
    assert look(copied) == []
    mend_times(services)
    assert Filesystem(str(copied)).folders() == [".hoodie"]


def test_tables_with_their_times_are_left_alone(copied: Path, tmp_path: Path):
    services, _ = services_of(copied)
    mend_times(services)
    kept = tmp_path / "kept" / "units"
    shutil.copytree(copied, kept)
    before = Timeline(table="units", path=str(kept)).writes
    mend_times(services_of(kept)[0])
    assert Timeline(table="units", path=str(kept)).writes == before
