"""Every ailment that a look without Spark can find, on tables made by hand; and healthy ones, without a finding.

The healthy table has commits 3, 4 and 5 and a file of each. The clock is two hours after everything was made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.tables import TableType
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


def test_nothing_is_reported_of_a_healthy_table(units: MadeTable):
    units.base("a", 1)  # of a commit that was archived
    assert found(units) == []
    assert list(check_version(units.look().timeline)) == []


DAMAGES: dict[Ailment, Callable[[MadeTable], object]] = {
    Ailment.PENDING_WRITE: lambda table: table.pending(6, "commit").base("a", 6),
    Ailment.PENDING_PLAN: lambda table: table.pending(6, "compaction"),
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
        (2, f"consumer report is at {at(2)}, no longer on its timeline: it will read the whole table"),
        (9, f"consumer report is at {at(9)}, ahead of its timeline: it will read the whole table"),
        (4, ""),
    ],
)
def test_a_consumer_without_a_place_is_named(units: MadeTable, place: int, what: str):
    consumers = {"report": ConsumerState(checkpoints={"units": at(place), "nowhere": at(1)})}
    findings = list(check_consumers({"units": units.look().timeline}, consumers))
    assert [finding.what for finding in findings] == ([what] if what else [])


@pytest.mark.parametrize(("begun", "kinds"), [(4, []), (9, [Ailment.CONSUMER])])
def test_a_consumer_within_a_commit_has_its_place_there(units: MadeTable, begun: int, kinds: list[Ailment]):
    consumers = {"split": ConsumerState(checkpoints={"units": f"{at(0)}/{at(begun)}/2/0123456789ab"})}
    assert [each.ailment for each in check_consumers({"units": units.look().timeline}, consumers)] == kinds


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


def test_of_several_of_a_kind_those_are_named_that_are_wrong(units: MadeTable):
    """Two orphans of different groups and partitions, beside an archived file, one at work and one that a plan has."""
    units.pending(7, "commit").pending(8, "replacecommit", "..CLUSTER..")
    for number, id_ in ((1, "archived"), (7, "at_work"), (8, "planned"), (6, "orphan"), (9, "later")):
        units.base(id_, number, partition="day=1" if id_ == "later" else "")
        if number != 1:
            heartbeat(units, f".temp/{at(number)}/{id_}.marker.CREATE")
    heartbeat(units, f".temp/{at(4)}/a.marker.CREATE")
    by_kind = {finding.ailment: finding for finding in found(units)}
    assert set(by_kind) == {Ailment.PENDING_WRITE, Ailment.PENDING_PLAN, Ailment.ORPHAN, Ailment.MARKERS}
    orphans = {Path(path).name.partition("_")[0] for path in by_kind[Ailment.ORPHAN].paths}
    assert orphans == {"orphan", "later"}
    assert {Path(path).name for path in by_kind[Ailment.MARKERS].paths} == {at(4), at(6), at(9)}
    before = {path for path in units.folder.rglob("*") if path.is_file()}
    for finding in by_kind.values():
        remove(str(units.folder), finding.paths)
    gone = {path.name.partition("_")[0].partition(".")[0] for path in before if not path.exists()}
    assert gone == {"orphan", "later", "a"}, "files of these, and markers of what ended"
    assert {finding.ailment for finding in found(units)} == {Ailment.PENDING_WRITE, Ailment.PENDING_PLAN}


@pytest.mark.parametrize(("lock", "is_found"), [("lock", True), (".locks/a", True), ("locked", False)])
@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_lock_is_stale_when_nothing_is_written(units: MadeTable, lock: str, is_found: bool, is_at_work: bool):
    heartbeat(units, lock)
    if is_at_work:
        units.pending(6, "commit")
    kinds = [finding.ailment for finding in found(units)]
    assert (Ailment.LOCK in kinds) is (is_found and not is_at_work)


def test_what_is_an_hour_old_to_the_second_may_still_be_at_work(units: MadeTable):
    file = next((units.base("a", 6).folder).glob(f"*{at(6)}*"))
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    os.utime(file, (moment.timestamp(), moment.timestamp()))
    kinds = [[f.ailment for f in found(units, moment + timedelta(seconds=s))] for s in (3599, 3600, 3601)]
    assert kinds == [[], [], [Ailment.ORPHAN]]


def test_consumers_are_looked_at_one_by_one_on_every_table(units: MadeTable, tmp_path: Path):
    agents = MadeTable(TableLayout(name="agents", record_key="id", form=StorageForm.KEYED), tmp_path / "agents")
    agents.commits(7, action="commit")
    empty = MadeTable(TableLayout(name="empty", record_key="id", form=StorageForm.KEYED), tmp_path / "empty")
    timelines = {table.layout.name: table.look().timeline for table in (units, agents, empty)}
    consumers = {
        "right": ConsumerState(checkpoints={"units": at(4), "agents": at(7)}),
        "lost": ConsumerState(checkpoints={"agents": at(7), "empty": at(1), "units": at(2)}),
        "ahead": ConsumerState(checkpoints={"units": at(6), "agents": at(6)}),
    }
    reported = [(finding.table, finding.what) for finding in check_consumers(timelines, consumers)]
    assert [(table, what.split()[1], what.split(", ")[1].split(" its")[0]) for table, what in reported] == [
        ("agents", "ahead", "no longer on"),
        ("units", "ahead", "ahead of"),
        ("units", "lost", "no longer on"),
    ]


def test_each_table_is_looked_at_beside_each_of_its_sources(units: MadeTable, tmp_path: Path):
    """Two marts of two sources; the older of two commits does not count."""
    made = {"units": units}
    for name in ("agents", "first", "second"):
        layout = TableLayout(name=name, record_key="id", form=StorageForm.KEYED)
        made[name] = MadeTable(layout, tmp_path / name).commits(4, action="commit")
    checkpoints = {"first": {"units": 5, "agents": 9}, "second": {"units": 6, "agents": 4}}
    for name, places in checkpoints.items():
        extra = {f"lakehouse.checkpoint.{source}": at(place) for source, place in places.items()}
        made[name].commits(5, action="commit", extraMetadata={key: at(99) for key in extra})
        made[name].commits(6, action="commit", extraMetadata=extra)
    findings = list(check_checkpoints({name: table.look().timeline for name, table in made.items()}))
    assert [(f.table, f.what.split()[1], f.ailment) for f in findings] == [
        ("first", "agents", Ailment.CHECKPOINT),
        ("second", "units", Ailment.CHECKPOINT),
    ]


def test_a_timeline_is_long_beyond_twice_its_target(units: MadeTable):
    units.commits(6, action="commit").commits(7, action="clean")
    assert found(units) == []
    units.commits(8, action="commit")
    assert [finding.ailment for finding in found(units)] == [Ailment.TIMELINE]


def test_commits_and_clocks_that_have_not_come_are_found(tmp_path: Path):
    future = int(f"{NOW.year + 10}0101000000000")
    table = MadeTable(UNITS, tmp_path / "units").commits(3, future, action="commit")
    (finding,) = found(table, NOW)
    assert (finding.ailment, finding.is_repairable) == (Ailment.AHEAD, True)
    assert str(future) in finding.what
    clock = {"extraMetadata": {"lakehouse.clock": f"{NOW.year + 10}-01-01T00:00:00Z"}}
    mart = MadeTable(UNITS, tmp_path / "mart").commits(3, action="commit", **clock)
    (finding,) = found(mart, NOW)
    assert (finding.ailment, finding.is_repairable) == (Ailment.MART_AHEAD, False)
    clock = {"extraMetadata": {"lakehouse.clock": f"{NOW.year - 1}-01-01T00:00:00Z"}}
    past = MadeTable(UNITS, tmp_path / "past").commits(3, action="commit", **clock)
    assert list(found(past, NOW - timedelta(days=4000))) == [], "the run's clock may be any earlier one"
