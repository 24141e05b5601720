"""Every ailment that a look without Spark can find, on tables made by hand; and healthy ones, of which nothing is said.

The healthy table has commits 3, 4 and 5 and a file of each. The clock lies two hours after everything was made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contracts.services import ServiceTargets
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.tables import TableType
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.doctor.checks import (
    check_checkpoints,
    check_consumers,
    check_erasure,
    check_table,
    check_temporary,
    check_version,
)
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.doctor.repair import remove
from spark_jobs.storage.erasures import Erasures, Pending
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.COPY_ON_WRITE)
NOW = datetime.now(UTC)
LATER = NOW + timedelta(hours=2)
TARGETS = ServiceTargets(archive_commits=2)


@pytest.fixture
def units(tmp_path: Path) -> MadeTable:
    table = MadeTable(UNITS, tmp_path / "units").commits(3, 4, 5, action="commit")
    for number in (3, 4, 5):
        table.base("a", number)
    return table


def found(table: MadeTable, clock: datetime = LATER) -> list[Finding]:
    return list(check_table(table.look(), TARGETS, clock))


def heartbeat(table: MadeTable, name: str) -> None:
    file = table.folder / ".hoodie" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


def test_nothing_is_said_of_a_healthy_table(units: MadeTable):
    units.base("a", 1)  # of a commit that was archived
    assert found(units) == []
    assert list(check_version(units.look().timeline)) == []


DAMAGES: dict[Ailment, Callable[[MadeTable], object]] = {
    Ailment.PENDING_WRITE: lambda table: table.pending(6, "commit").base("a", 6),
    Ailment.PENDING_PLAN: lambda table: table.pending(6, "compaction"),
    Ailment.PENDING_RESTORE: lambda table: table.pending(6, "restore"),
    Ailment.ORPHAN: lambda table: table.base("a", 6),
    Ailment.MARKERS: lambda table: heartbeat(table, f".temp/{at(4)}/a.marker.CREATE"),
    Ailment.LOCK: lambda table: heartbeat(table, "lock"),
    Ailment.METADATA_TABLE: lambda table: heartbeat(table, "metadata/.hoodie/hoodie.properties"),
    Ailment.TIMELINE: lambda table: table.commits(6, 7, action="commit"),
}


@pytest.mark.parametrize("ailment", DAMAGES, ids=str)
def test_each_damage_is_named_and_nothing_else_is(units: MadeTable, ailment: Ailment):
    DAMAGES[ailment](units)
    (finding,) = found(units)
    assert (finding.table, finding.ailment) == ("units", ailment)
    assert finding.what
    assert finding.then
    if finding.paths:
        remove(str(units.folder), finding.paths)
        assert found(units) == []
        assert units.look().groups[0].slices


@pytest.mark.parametrize("ailment", [Ailment.ORPHAN, Ailment.MARKERS, Ailment.LOCK], ids=str)
def test_what_is_young_may_still_be_at_work(units: MadeTable, ailment: Ailment):
    DAMAGES[ailment](units)
    assert found(units, NOW + timedelta(minutes=5)) == []


def test_files_and_markers_of_writes_at_work_are_left_alone(units: MadeTable):
    units.pending(6, "commit").base("a", 6)
    heartbeat(units, f".temp/{at(6)}/a.marker.CREATE")
    heartbeat(units, "lock")
    assert [finding.ailment for finding in found(units)] == [Ailment.PENDING_WRITE]


@pytest.mark.parametrize("version", ["8", "9"])
def test_another_version_is_named(units: MadeTable, version: str):
    (units.folder / ".hoodie/hoodie.properties").write_text(f"hoodie.table.version={version}\n")
    (finding,) = check_version(Timeline(table="units", path=str(units.folder)))
    assert finding.ailment is Ailment.VERSION
    assert finding.what.startswith(f"is of version {version}: Athena and Trino cannot read it")


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (2, f"consumer report stands at {at(2)}, no longer on its timeline: it will read the whole table"),
        (9, f"consumer report stands at {at(9)}, ahead of its timeline: it will read the whole table"),
        (4, ""),
    ],
)
def test_a_consumer_without_a_place_is_named(units: MadeTable, place: int, what: str):
    consumers = {"report": ConsumerState(checkpoints={"units": at(place), "nowhere": at(1)})}
    findings = list(check_consumers({"units": units.look().timeline}, consumers))
    assert [finding.what for finding in findings] == ([what] if what else [])


@pytest.mark.parametrize(("read", "is_ahead"), [(5, False), (6, True)])
def test_a_table_that_holds_more_than_its_source_has(units: MadeTable, tmp_path: Path, read: int, is_ahead: bool):
    layout = TableLayout(name="mart", record_key="id", form=StorageForm.KEYED)
    mart = MadeTable(layout, tmp_path / "mart")
    mart.commits(8, action="commit", extraMetadata={"lakehouse.checkpoint.units": at(read)})
    timelines = {table.layout.name: table.look().timeline for table in (units, mart)}
    findings = list(check_checkpoints(timelines))
    assert [(finding.table, finding.ailment) for finding in findings] == (
        [("mart", Ailment.CHECKPOINT)] if is_ahead else []
    )


def test_files_of_a_process_that_died_are_found_beside_the_tables(tmp_path: Path):
    folder = tmp_path / ".consumers"
    folder.mkdir()
    for name in ("split.json", "split.json.0123.tmp", "young.json.0123.tmp"):
        (folder / name).write_text(json.dumps({}))
    os.utime(folder / "split.json.0123.tmp", (0, 0))
    (finding,) = check_temporary(str(tmp_path), NOW)
    assert finding.paths == (str(folder / "split.json.0123.tmp"),)
    remove(str(tmp_path), finding.paths)
    assert sorted(path.name for path in folder.iterdir()) == ["split.json", "young.json.0123.tmp"]


def test_an_erasure_that_was_cut_off_is_named_but_not_whom(tmp_path: Path):
    erasures = Erasures(Settings(base_path=str(tmp_path)))
    assert list(check_erasure(erasures.pending())) == []
    erasures.begin(Pending(role="agent", id="17", names=("Ann Quux",), found=(("sales", "rows", 2),)))
    assert erasures.pending() == Pending(role="agent", id="17", names=("Ann Quux",), found=(("sales", "rows", 2),))
    (finding,) = check_erasure(erasures.pending())
    assert finding.ailment is Ailment.ERASURE
    assert "17" not in finding.what + finding.then
    assert "Quux" not in finding.what + finding.then
    path = erasures.finish("agent", "2026-11-22T07:00:00Z", [])
    assert Path(path).name == "agent-20261122T070000.json"
    assert erasures.pending() is None
