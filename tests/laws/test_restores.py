"""Savepoints and restores of a lake made by chance: every table and every consumer is where it was, whoever died when.

Tables are made by hand, so it is the jobs that are tried: which states they keep and let go, what they take back in
which order, and what they remember. That rows come back: tests/spark_jobs/jobs/test_restore.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.contracts.quarantine import DECIDED_KEY, Decisions
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import restore, savepoint
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage import file_leases
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import context_of, run_in
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at

SPEC = load_lake_spec(Settings().lake_spec)
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
TABLES = ("sales_log", "units", "agents", "sales", "fast_daily_deals", "stitch_agent_days", "stitch_agent_contracts")
SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.slice(name="laws")) for seed in range(6, 40))]
OWN = ("split", "fast_daily_deals", "stitch_agent_days")
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a process holds a new lease is not looked up: most of the time goes there."""
    monkeypatch.setattr(file_leases, "_holder_of_removed", lambda _path: "")


@dataclass
class Kept:
    """What a savepoint is to bring back: the writes of every table, and what each consumer remembered."""

    writes: dict[str, list[Instant]]
    consumers: dict[str, ConsumerState]


@dataclass
class Lake:
    """The lake, and what of each savepoint that is kept."""

    settings: Settings
    rng: random.Random
    engine: MadeEngine = field(default_factory=MadeEngine)
    hours: int = 0
    instant: int = 0
    kept: dict[str, Kept] = field(default_factory=dict)

    def timeline(self, table: str) -> Timeline:
        return Timeline(table=table, path=self.settings.table_path(table))

    def writes(self) -> dict[str, list[Instant]]:
        found = {table: [write.time for write in self.timeline(table).writes] for table in TABLES}
        return {table: times for table, times in found.items() if times}

    def consumers(self) -> dict[str, ConsumerState]:
        return ConsumerRegistry(self.settings.base_path).all()

    def write(self) -> None:
        """Commits of some tables, and consumers that got further; some are new."""
        for table in self.rng.sample(TABLES, self.rng.randrange(1, 4)):
            folder, self.instant = Path(self.settings.table_path(table)), self.instant + 1
            if not folder.exists():
                MadeTable(LAYOUTS[table], folder)
            (folder / ".hoodie" / f"{at(self.instant)}.{self.rng.choice(('commit', 'deltacommit'))}").write_text("{}")
        registry = ConsumerRegistry(self.settings.base_path)
        for name in self.rng.sample((*OWN, "report"), 2):
            places = {table: times[-1] for table, times in self.writes().items() if self.rng.random() < 0.5}
            registry.write(name, ConsumerState(checkpoints=places, notes={"n": str(self.instant)}), START)

    def run(self, job: Any, **options: Any) -> JobResult:
        engine: Any = self.engine
        name = "savepoint" if job is savepoint else "restore"
        return run_in(context_of(name, self.settings, spark=engine, spec=SPEC, clock=self.clock, **options))

    @property
    def clock(self) -> datetime:
        return START + timedelta(hours=self.hours)

    def keep(self, label: str, keep: int | None) -> None:
        """A savepoint; what goes is the oldest of its own label."""
        self.hours += 1
        before = Kept(self.writes(), self.consumers())
        self.until_done(lambda: self.run(savepoint, action="create", label=label, keep=keep))
        if before.writes:
            self.kept[f"{label}-{self.clock:%Y%m%dT%H%M%S}"] = before
            same = sorted(id_ for id_ in self.kept if id_.startswith(f"{label}-"))
            for id_ in same[: -keep if keep else 0]:
                del self.kept[id_]

    def restore(self) -> None:
        id_ = self.rng.choice(sorted(self.kept))
        then, registry = self.kept[id_], ConsumerRegistry(self.settings.base_path)
        outside = registry.read("report")
        self.until_done(lambda: self.run(restore, to=id_, yes=True))
        assert self.writes() == then.writes
        own = {name: state for name, state in self.consumers().items() if name in OWN}
        assert own == {name: state for name, state in then.consumers.items() if name in OWN}
        for table, place in registry.read("report").checkpoints.items():
            there = then.writes.get(table, [])
            known = then.consumers["report"].checkpoints.get(table) if "report" in then.consumers else None
            before = outside.checkpoints[table]
            assert place == (before if before in there else known or (there[-1] if there else "0" * 17))
        is_later = {
            other: any(kept.writes[table][-1] > then.writes.get(table, [NO_INSTANT])[-1] for table in kept.writes)
            for other, kept in self.kept.items()
        }
        self.kept = {other: kept for other, kept in self.kept.items() if not is_later[other]}
        assert self.run(restore, to=id_, yes=True).status == "nothing_to_do"

    def until_done(self, run: Callable[[], object]) -> None:
        """Now and then the process dies at some call of the engine, and the job is run again."""
        if self.rng.random() < 0.5:
            self.engine.fails_at = len(self.engine.calls) + self.rng.randrange(6)
            with suppress(KeyboardInterrupt):
                run()
            self.engine.fails_at = None
        run()

    def check(self) -> None:
        records = SavepointRecords(self.settings).all()
        assert {record.id for record in records} == set(self.kept)
        for record in records:
            kept = self.kept[record.id]
            assert record.tables == {table: times[-1] for table, times in kept.writes.items()}
            then = {name: ConsumerState.from_content(content) for name, content in record.consumers.items()}
            assert then == kept.consumers
        found = {(table, time) for table in TABLES for time in self.timeline(table).savepoints}
        assert found == {state for record in records for state in record.tables.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lake_is_as_it_was_whichever_of_its_savepoints_it_goes_back_to(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lake = Lake(Settings(base_path=str(tmp_path), lease_wait_seconds=0), rng)
    for _ in range(14):
        happens = rng.random()
        if happens < 0.45:
            lake.write()
        elif happens < 0.8 or not lake.kept:
            lake.keep(rng.choice(("day", "release")), rng.choice((None, 1, 2)))
        else:
            lake.restore()
        lake.check()


def test_savepoints_of_other_jobs_are_not_counted_and_none_is_gone_back_to(tmp_path: Path) -> None:
    """What a rewrite keeps for its own way back shares a state with that of the day, and has the same words."""
    lake = Lake(Settings(base_path=str(tmp_path), lease_wait_seconds=0), random.Random(1))
    session: Any = lake.engine
    for _ in range(4):
        lake.write()
    states = {table: times[-1] for table, times in lake.writes().items()}
    records = SavepointRecords(lake.settings)
    other = Record(id="x", made_by="recompute", made_at="2020-01-01T00:00:00Z", what="the lake (day)", tables=states)
    records.keep(session, other)
    for _ in range(3):
        lake.keep("day", 1)
    assert [record.made_by for record in records.all()] == ["recompute", "savepoint"]
    with pytest.raises(Exception, match="no savepoint made by savepoint is called 'x'"):
        lake.run(restore, to="x", yes=True)
    lake.run(savepoint, action="delete", name=records.all()[1].id)
    assert {(table, time) for table in states for time in lake.timeline(table).savepoints} == set(states.items())


def test_a_plan_says_which_decisions_about_the_quarantine_go(tmp_path: Path) -> None:
    """Two records replayed and one discarded after the savepoint; one replayed before it, which stays so."""
    lake = Lake(settings=Settings(base_path=str(tmp_path)), rng=random.Random(1))
    quarantine = MadeTable(LAYOUTS[SPEC.quarantine], Path(lake.settings.table_path(SPEC.quarantine)))
    decided = [Decisions(replayed=1), Decisions(replayed=2, repaired=1), Decisions(discarded=1)]
    quarantine.commits(1, extraMetadata={f"lakehouse.{DECIDED_KEY}": decided[0].to_json()})
    lake.run(savepoint, action="create", label="day", keep=None)
    for number, each in enumerate(decided[1:], start=2):
        quarantine.commits(number, extraMetadata={f"lakehouse.{DECIDED_KEY}": each.to_json()})
    plan = lake.run(restore, to=f"day-{lake.clock:%Y%m%dT%H%M%S}", yes=False)
    (line,) = [message for message in plan.messages if message.startswith("quarantine: 2 records were replayed")]
    assert "1 discarded after the savepoint, and 1 of them in a repaired form that is not kept" in line
