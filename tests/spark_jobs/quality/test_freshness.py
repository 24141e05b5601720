"""How fresh tables are, in random histories of a lake, against a plain account of what each table holds.

A step is a minute or more: a file of one event arrives, or a job runs as far as the one before it has come. Timelines,
consumers' files and landing files are written here by hand, in the form in which the jobs leave them.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant, format_instant
from spark_jobs.contracts.job_errors import StaleTablesError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.quality.freshness import FreshnessOfLake
from spark_jobs.quality.holds import Hold, Holds
from spark_jobs.quality.verdicts import Verdict
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import pack_ledger
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of, run_in
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
START = datetime(2026, 1, 1, tzinfo=UTC)
MART, SOURCES = "fast_daily_deals", tuple(read.table for read in SPEC.mart("fast_daily_deals").reads)
TABLES = tuple(table.name for table in SPEC.tables)
BEHIND, EVENT = SPEC.freshness.behind_minutes, SPEC.freshness.event_minutes


@dataclass
class History:
    """A lake on storage, and beside it what the test knows of it: events by number, each table's reach into them."""

    folder: Path
    now: datetime = START
    arrived: list[datetime] = field(default_factory=list)
    happened: list[datetime] = field(default_factory=list)
    in_log: int = 0
    log_commits: list[tuple[datetime, int]] = field(default_factory=list)
    reach: dict[str, int] = field(default_factory=dict)
    """How many of the log's commits each table has seen."""
    commits: dict[str, list[tuple[datetime, int]]] = field(default_factory=dict)
    """Of each table its commits, with its reach then."""
    read: dict[str, int] = field(default_factory=dict)
    """How many commits of each source the mart has seen."""
    made: dict[str, MadeTable] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return Settings(base_path=str(self.folder / "lake"), landing_path=str(self.folder / "landing"))

    def write(self, table: str, **metadata: str) -> Instant:
        layout = next(layout for layout in all_layouts(SPEC) if layout.name == table)
        made = self.made.get(table) or MadeTable(layout, self.folder / "lake" / table)
        self.made[table] = made
        instant = format_instant(self.now)
        extra = {f"lakehouse.{name}": value for name, value in metadata.items()}
        made.commits(int(instant), action="commit", extraMetadata=extra, operationType="UPSERT")
        return instant

    def land(self, age_minutes: int) -> None:
        number = len(self.arrived)
        path = self.folder / "landing" / "erp.SALES" / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"number": number}) + "\n")
        os.utime(path, ns=(0, int(self.now.timestamp()) * 10**9))
        self.arrived.append(self.now)
        self.happened.append(self.now - timedelta(minutes=age_minutes))

    def ingest(self) -> None:
        if self.in_log == len(self.arrived):
            return
        self.in_log = len(self.arrived)
        ledger = {}
        for path in (self.folder / "landing").rglob("*.json"):
            content, facts = path.read_bytes(), path.stat()
            ledger[str(path.relative_to(self.folder / "landing"))] = LedgerEntry(
                size=facts.st_size,
                modified_ns=facts.st_mtime_ns,
                consumed=len(content),
                digest=hashlib.sha256(content).hexdigest(),
            )
        newest = max(self.happened)
        self.write("sales_log", landing_ledger=pack_ledger(ledger), newest_event_time=format_clock(newest))
        self.log_commits.append((self.now, self.in_log))

    def split(self, changed: frozenset[str]) -> None:
        if not self.log_commits:
            return
        place = format_instant(self.log_commits[-1][0])
        for table in TABLES:
            if table in changed:
                self.write(table, **{"checkpoint.sales_log": place})
                self.commits.setdefault(table, []).append((self.now, len(self.log_commits)))
            self.reach[table] = len(self.log_commits)
        last = {t: format_instant(self.commits[t][-1][0]) if t in self.commits else None for t in TABLES}
        state = ConsumerState(checkpoints={"sales_log": place}, tables=last)
        ConsumerRegistry(self.settings.base_path).write("split", state, self.now)

    def mart(self) -> None:
        places = {s: format_instant(self.commits[s][-1][0]) for s in SOURCES if s in self.commits}
        if len(places) < len(SOURCES):
            return
        instant = self.write(MART, **{f"checkpoint.{source}": place for source, place in places.items()})
        self.read = {source: len(self.commits[source]) for source in SOURCES}
        state = ConsumerState(checkpoints=places, tables={MART: instant})
        ConsumerRegistry(self.settings.base_path).write(MART, state, self.now)

    def service(self, table: str) -> None:
        if table in self.made:
            instant = int(format_instant(self.now))
            self.made[table].commits(instant, action="replacecommit", operationType="CLUSTER")

    def newest_of(self, reach: int) -> datetime | None:
        return max(self.happened[: self.log_commits[reach - 1][1]]) if reach else None

    def expected(self) -> dict[str, tuple[datetime | None, datetime | None]]:
        """Newest event and since when something waits, of the log, each table and the mart."""
        waiting = self.arrived[self.in_log] if self.in_log < len(self.arrived) else None
        known = {"sales_log": (self.newest_of(len(self.log_commits)), waiting)}
        for table in TABLES:
            reach = self.reach.get(table, 0)
            unread = self.log_commits[reach:]
            known[table] = (self.newest_of(reach), unread[0][0] if unread else None)
        newest, waits = [], []
        for source in SOURCES:
            commits, read = self.commits.get(source, []), self.read.get(source, 0)
            waits += [when for when, _ in commits[read:]][:1]
            if read:
                newest.append(self.newest_of(commits[read - 1][1] if commits[read:] else self.reach[source]))
        known[MART] = (max(filter(None, newest), default=None), min(waits, default=None))
        return known


STEPS = st.one_of(
    st.tuples(st.just("land"), st.integers(0, 6000)),
    st.tuples(st.just("ingest")),
    st.tuples(st.just("split"), st.frozensets(st.sampled_from(TABLES))),
    st.tuples(st.just("mart")),
    st.tuples(st.just("service"), st.sampled_from(("sales_log", *SOURCES, MART))),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(1, 30), STEPS), max_size=25), after=st.integers(0, 9000))
def test_each_table_is_as_fresh_as_what_it_holds(tmp_path_factory, steps, after):
    history = History(tmp_path_factory.mktemp("lake"))
    for minutes, (name, *words) in steps:
        history.now += timedelta(minutes=minutes)
        getattr(history, name)(*words)
    clock, expected = history.now + timedelta(minutes=after), history.expected()
    waiting = expected["sales_log"][1]
    lake = FreshnessOfLake(spec=SPEC, settings=history.settings, waiting_since=waiting)
    found = {table: lake.of(table) for table in expected}
    assert {t: (each.newest_event, each.waiting_since) for t, each in found.items()} == expected
    late = {t for t, (newest, waits) in expected.items() if is_late(clock, newest, EVENT, waits, BEHIND)}
    assert late_of(history, clock, *expected) == late


def is_late(clock: datetime, newest: datetime | None, most: int, waits: datetime | None, longest: int) -> bool:
    is_silent = newest is not None and (clock - newest).total_seconds() > 60 * most
    return is_silent or (waits is not None and (clock - waits).total_seconds() > 60 * longest)


def run(history: History, clock: datetime, *tables: str) -> JobResult:
    return run_in(context_of("freshness", history.settings, clock=clock, tables=",".join(tables)))


def late_of(history: History, clock: datetime, *tables: str) -> set[str]:
    try:
        run(history, clock, *tables)
    except StaleTablesError as error:
        return set(error.late)
    return set()


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Everything has been through all layers at two minutes past."""
    history = History(tmp_path)
    history.land(30)
    for step in (history.ingest, lambda: history.split(frozenset(TABLES)), history.mart):
        history.now += timedelta(seconds=40)
        step()
    return history


def test_a_lake_without_anything_keeps_every_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(History(tmp_path), START).counters == {"tables": 17, "late": 0, "held": 0}
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 17
    assert all(line.endswith("never made") for line in lines[2:])


def test_a_quiet_lake_is_not_behind_however_old_its_commits_are(history: History):
    assert late_of(history, history.now + timedelta(minutes=EVENT - 60), "sales_log", *TABLES, MART) == set()


def test_a_late_table_is_reported_with_its_reason(history: History, capsys: pytest.CaptureFixture[str]):
    history.now += timedelta(minutes=10)
    history.land(0)
    with pytest.raises(StaleTablesError, match=r"^1 tables are older .* sales_log: behind: something waits since") as e:
        run(history, history.now + timedelta(minutes=16), "sales_log", MART)
    assert e.value.result is not None
    assert e.value.result.counters["late"] == 1
    assert e.value.late == {"sales_log": "behind: something waits since 2026-01-01 00:12 UTC"}
    table = capsys.readouterr().out
    assert "16 min ago" in table
    assert "within 3 d  " in table


def test_a_slow_mart_keeps_its_own_promise(history: History):
    assert SPEC.mart("slow_milestones").freshness != SPEC.freshness
    assert "slow_sale_paths" not in late_of(history, history.now + timedelta(hours=25))
    assert "slow_sale_paths" in late_of(history, history.now + timedelta(hours=27))


def test_a_file_that_gives_nothing_to_read_waits_for_nothing(history: History):
    folder = history.folder / "landing" / "erp.SALES"
    (folder / "empty.json").touch()
    (folder / "copy.json").write_bytes((folder / "0.json").read_bytes())
    (folder / "begun.json").write_text('{"numb')
    for minutes, name in ((0, "empty"), (0, "copy"), (19, "begun")):
        os.utime(folder / f"{name}.json", ns=(0, int(history.now.timestamp() + 60 * minutes) * 10**9))
    assert late_of(history, history.now + timedelta(minutes=20), "sales_log") == set()
    assert late_of(history, history.now + timedelta(minutes=50), "sales_log") == {"sales_log"}, "its rest never came"


def test_a_held_table_is_shown_so(history: History, capsys: pytest.CaptureFixture[str]):
    Holds(history.settings).hold(MART, "mart", list[Verdict](), history.now)
    assert isinstance(Holds(history.settings).hold_of(MART), Hold)
    assert run(history, history.now, MART).counters["held"] == 1
    assert f"held since {format_clock(history.now)}" in capsys.readouterr().out


def test_an_unknown_table_is_refused(history: History):
    with pytest.raises(ContractError, match=r"no promise of a table 'nothing' \(--tables\)"):
        run(history, START, "nothing")
