"""What a restore does to tables made by hand, and where those who read them are afterwards."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.contracts.errors import ContractError, TableBusyError, TableVersionError, TransientError
from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.restore import (
    TableReturn,
    is_there,
    later_records,
    plan_restore,
    restore_table,
    return_consumers,
)
from spark_jobs.storage.savepoints import Record
from spark_jobs.storage.timeline import Timeline
from tests.support.loading_lakes import lake_document
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at
from tests.support.shop_lakes import make_shop_lake

SPEC = load_lake_spec(Settings().lake_spec)
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)


def record(id_: str = "x", consumers: Mapping[str, ConsumerState] | None = None, **tables: int) -> Record:
    then = {name: state.to_content() for name, state in (consumers or {}).items()}
    states = {name: at(number) for name, number in tables.items()}
    return Record(id=id_, made_by="savepoint", made_at="2026-01-01T00:00:00Z", what="", tables=states, consumers=then)


class Made:
    """Tables of the shipped spec."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(base_path=str(folder / "lake"), lease_wait_seconds=0)
        self.engine = MadeEngine()

    def table(self, name: str, *numbers: int, savepoints: tuple[int, ...] = ()) -> MadeTable:
        made = MadeTable(LAYOUTS[name], Path(self.settings.table_path(name))).commits(*numbers)
        return made.commits(*savepoints, action="savepoint")

    def timeline(self, name: str) -> Timeline:
        return Timeline(table=name, path=self.settings.table_path(name))

    def restore(self, name: str, back_to: int | None) -> bool:
        way = TableReturn(table=name, newest=NO_INSTANT, back_to=at(back_to) if back_to else None, commits=1)
        session: Any = self.engine
        return restore_table(session, way, self.settings).is_committed


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_every_table_of_data_goes_back_the_log_last(tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    settings, spec = Settings(base_path=str(tmp_path / "lake"), lake_spec=str(path)), load_lake_spec(str(path))
    for layout in all_layouts(spec):
        MadeTable(layout, Path(settings.table_path(layout.name))).commits(1)
    before = Record(id="x", made_by="savepoint", made_at="2026-01-01T00:00:00Z", what="", tables={}, consumers={})
    ways = plan_restore(spec, before, settings)
    assert sorted(way.table for way in ways) == sorted(spec.data_tables)
    assert [way.table for way in ways][-2:] == [spec.quarantine, spec.log]
    assert {"merged_rates", "countries"} < {way.table for way in ways}


def test_a_table_goes_back_before_those_it_is_made_from(made: Made) -> None:
    for name in SPEC.data_tables:
        made.table(name, 1)
    order = [way.table for way in plan_restore(SPEC, record(), made.settings)]
    assert sorted(order) == sorted(SPEC.data_tables)
    for mart in SPEC.marts:
        assert all(order.index(mart.name) < order.index(read.table) for read in mart.reads), mart.name
    assert all(order.index(table.name) < order.index(SPEC.log) for table in SPEC.tables)


def test_the_plan_counts_what_came_after_the_state_of_each_table(made: Made) -> None:
    made.table("units", 1, 2, 3, 5, savepoints=(2,)).pending(4, "deltacommit").pending(6, "compaction")
    made.table("agents", 2, 3, savepoints=(3,))
    made.table("buildings", 7, 8)
    made.table("sales_log", 1, 4, savepoints=(1,))
    ways = plan_restore(SPEC, record(units=2, agents=3, sales_log=1), made.settings)
    assert {way.table: (way.newest, way.back_to, way.commits, way.describe()) for way in ways} == {
        "buildings": (at(8), None, 2, "made later: removed"),
        "agents": (at(3), at(3), 0, "stays as it is"),
        "units": (at(5), at(2), 4, "4 commits taken back"),
        "sales_log": (at(4), at(1), 1, "1 commits taken back"),
    }


@pytest.mark.parametrize(
    ("commits", "savepoints"), [((1, 2, 3), ()), ((1, 3), (2,)), ((1, 2, 3), (1, 3)), ((), ())], ids=str
)
def test_a_state_that_is_not_kept_is_refused_whatever_table_it_is_of(
    made: Made, commits: tuple[int, ...], savepoints: tuple[int, ...]
) -> None:
    made.table("units", 1, 2, 3, savepoints=(2,))
    made.table("sales", *commits, savepoints=savepoints)
    with pytest.raises(ContractError, match=f"sales: its state of {at(2)} is not kept any more"):
        plan_restore(SPEC, record(units=2, sales=2), made.settings)


def test_other_tables_and_other_versions_are_refused(made: Made) -> None:
    with pytest.raises(ContractError, match=r"savepoint x is of tables this lake spec does not have: \['orders'\]"):
        plan_restore(SPEC, record(units=1, orders=1), made.settings)
    units = made.table("units", 1, 2, savepoints=(1,))
    (units.folder / ".hoodie/hoodie.properties").write_text("hoodie.table.version=8\n")
    with pytest.raises(TableVersionError):
        plan_restore(SPEC, record(units=1), made.settings)


@pytest.mark.parametrize("seed", range(20))
def test_savepoints_of_any_state_that_goes_are_let_go_and_no_others(seed: int) -> None:
    rng, names = random.Random(seed), ("units", "agents", "sales")

    def some(id_: str) -> Record:
        tables: Any = {name: rng.randrange(1, 6) for name in rng.sample(names, rng.randrange(1, 4))}
        return record(id_, **tables)

    records, back_to = [some(str(number)) for number in range(6)], some("back")
    expected = [
        each
        for each in records
        if [
            name
            for name, instant in each.tables.items()
            if name not in back_to.tables or instant > back_to.tables[name]
        ]
    ]
    assert later_records([*records, back_to], back_to) == expected


@pytest.mark.parametrize(
    ("make", "is_back"),
    [
        (lambda table: table, True),
        (lambda table: table.commits(1), True),
        (lambda table: table.commits(4), False),
        (lambda table: table.commits(4, action="replacecommit"), False),
        (lambda table: table.pending(4, "deltacommit"), False),
        (lambda table: table.pending(4, "compaction"), False),
        (lambda table: table.pending(1, "compaction"), True),
        (lambda table: table.pending(4, "restore"), False),
        (lambda table: table.pending(1, "restore"), False),
        (lambda table: table.commits(4, action="rollback"), True),
    ],
)
def test_a_table_is_back_when_nothing_came_after(made: Made, make: Any, is_back: bool) -> None:
    make(made.table("units", 2, 3))
    assert is_there(made.timeline("units"), at(3)) is is_back
    assert not is_there(made.timeline("units"), at(5))


def test_each_table_goes_back_to_its_own_state_and_no_further(made: Made) -> None:
    for name in ("units", "agents"):
        made.table(name, 1, 2, 3, 4, savepoints=(1, 2))
    assert made.restore("units", 2)
    assert [write.time for write in made.timeline("units").writes] == [at(1), at(2)]
    assert len(made.timeline("agents").writes) == 4
    assert not made.restore("units", 2), "it is there"
    assert made.engine.calls == [("rollback_to_savepoint", "units", at(2))]
    made.table("sales", 5)
    assert made.restore("sales", None)
    assert not Path(made.settings.table_path("sales")).exists()
    assert len(made.timeline("agents").writes) == 4


def test_one_that_was_cut_off_is_gone_on_with(made: Made) -> None:
    made.table("units", 1, 2, savepoints=(2,)).pending(4, "restore")
    assert made.restore("units", 2), "its commits are gone, but it did not say so"
    assert made.timeline("units").pending_restores == ()


def test_a_table_that_is_not_back_is_no_success(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    made.table("units", 1, 2, 3, savepoints=(2,))
    monkeypatch.setattr(MadeEngine, "_rollback_to_savepoint", lambda *_, **__: None)
    with pytest.raises(TransientError, match=f"units: it is not back at {at(2)}; run the restore again"):
        made.restore("units", 2)


def test_what_a_dead_writer_began_is_rolled_back_first_and_one_at_work_is_waited_for(made: Made) -> None:
    units = made.table("units", 1, 2, 3, savepoints=(2,)).pending(4, "deltacommit")
    heartbeat = units.folder / ".hoodie/.heartbeat" / at(4)
    heartbeat.parent.mkdir()
    heartbeat.touch()
    with pytest.raises(TableBusyError):
        made.restore("units", 2)
    assert [call[0] for call in made.engine.calls] == ["run_clean"]
    assert len(made.timeline("units").writes) == 3
    heartbeat.unlink()
    assert made.restore("units", 2)
    assert [call[0] for call in made.engine.calls[1:]] == ["run_clean", "rollback_to_savepoint"]


def test_a_way_back_that_made_it_another_version_is_no_success(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    units, real = made.table("units", 1, 2, 3, savepoints=(2,)), MadeEngine._rollback_to_savepoint

    def upgrade(engine: MadeEngine, timeline: Path, *, instant_time: str) -> None:
        real(engine, timeline, instant_time=instant_time)
        (units.folder / ".hoodie/hoodie.properties").write_text("hoodie.table.version=9\n")

    monkeypatch.setattr(MadeEngine, "_rollback_to_savepoint", upgrade)
    with pytest.raises(TableVersionError):
        made.restore("units", 2)


def test_mirrors_go_back_before_what_was_deleted_in_them_and_that_before_the_log(tmp_path: Path) -> None:
    entries = [
        {"name": name, "key": ["id"], "deletes": deletes} for name, deletes in (("a", "remove"), ("b", "tombstone"))
    ]
    no_spark: Any = None
    lake = make_shop_lake(no_spark, tmp_path, entries)
    spec = load_lake_spec(lake.spec)
    for layout in all_layouts(spec):
        MadeTable(layout, Path(lake.path(layout.name))).commits(1)
    order = [way.table for way in plan_restore(spec, record(), lake.settings)]
    assert order == ["a", "b", "shop_log_deleted", "shop_quarantine", "shop_log"]


PLACES = {"units": (1, 2, 4), "agents": (1, 3)}
"""Commits of the tables once they are back."""


def some_place(rng: random.Random) -> str:
    """After a commit, or within the one after it."""
    number = rng.randrange(7)
    return f"{at(number - 1)}/{at(number)}/2/0123456789ab" if number and rng.random() < 0.4 else at(number)


def some_states(rng: random.Random, names: tuple[str, ...]) -> dict[str, ConsumerState]:
    found = {}
    for name in names:
        if rng.random() < 0.75:
            tables = rng.sample(sorted(PLACES), rng.randrange(1, 3))
            places = {table: some_place(rng) for table in tables}
            found[name] = ConsumerState(checkpoints=places, tables={"units": at(9)}, notes={"clock": rng.choice("ab")})
    return found


@pytest.mark.parametrize("seed", range(40))
def test_own_consumers_remember_what_they_did_then_and_others_go_on_where_they_can(made: Made, seed: int) -> None:
    rng, spec = random.Random(seed), SPEC
    for name, numbers in PLACES.items():
        made.table(name, *numbers)
    own, others = ("split", "fast_daily_deals"), ("report", "export", "third")
    then, now = some_states(rng, (*own, *others)), some_states(rng, (*own, *others))
    registry = ConsumerRegistry(made.settings.base_path)
    for name, state in now.items():
        registry.write(name, state, CLOCK)
    messages = return_consumers(registry, spec, record(consumers=then), CLOCK, made.timeline)
    expected = {name: then[name] for name in own if name in then}
    reported = []
    for name in others:
        if name not in now:
            continue
        places = dict(now[name].checkpoints)
        for table, place in now[name].checkpoints.items():
            if int(place.split("/")[place.count("/") and 1]) not in (0, *PLACES[table]):
                known = then[name].checkpoints.get(table) if name in then else None
                places[table] = known or at(PLACES[table][-1])
                reported.append(f"{name} had read {table} up to {place}; it goes on after {places[table]}")
        expected[name] = replace(now[name], checkpoints=places)
    assert registry.all() == expected
    assert sorted(messages) == sorted(reported)


def test_a_table_whose_removal_was_cut_off_is_still_to_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    settings, spec = Settings(base_path=str(tmp_path / "lake"), lake_spec=str(path)), load_lake_spec(str(path))
    file = Path(settings.table_path("countries"), "rows.parquet")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    before = Record(id="x", made_by="savepoint", made_at="2026-01-01T00:00:00Z", what="", tables={}, consumers={})
    assert [(way.table, way.back_to, way.commits) for way in plan_restore(spec, before, settings)] == [
        ("countries", None, 0)
    ]
