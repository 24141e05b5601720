"""Every two commands that rewrite a lake: the first is cut off at an operation, then the second comes, and a way out.

The second may do its work or refuse in one sentence. Then the doctor is run and its advice followed, until it reports
no unfinished work; a lake that does not get there is stuck. In the end the next batch goes through all of the lake, and
sales, mart and store have what was delivered: a restore takes commits back, and ingest reads them again; an erasure
changes whose a sale is, and not which unit it is of.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.jobs.doctor import findings_of
from spark_jobs.storage.doctor.findings import Ailment
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.savepoints import SavepointRecords
from tests.faults.small_lakes import BATCHES, FIRST, LAYER, SAVEPOINT, SECOND, THIRD, SmallLake, Units, make_small_lake
from tests.faults.stops import Choose, Stops
from tests.faults.verdicts import Point, Tried, judge_lake, retry
from tests.support.contexts import context_of
from tests.support.envelopes import SQLSERVER_TOPIC, line, sqlserver

AGENT = 1
_AGENT_COLUMN = "    - {name: agent_id, source: AgentId, type: bigint}\n"
_PEOPLE_AND_LOAD = """\
  - name: rates
    key: [currency]
    load:
      operation: upsert
      columns:
        - {name: currency, type: string}
        - {name: rate, type: bigint}
people:
  agent: {key: agent_id}
"""
_UNFINISHED = (Ailment.PENDING_RESTORE, Ailment.LOST_RESTORE, Ailment.KEPT_ROWS, Ailment.ERASURE)
_MOST_ADVICE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLake(SmallLake):
    """A small lake whose sales have agents, with a table of loads beside them and a record that cannot be used."""

    def copy(self, folder: Path) -> PairLake:
        """The same lake in another folder."""
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns(".leases"))
        return PairLake(spark=self.spark, folder=folder, spec=folder / "small.yaml")

    def take_in(self, batch: Units) -> None:
        """Deliver a batch, and ingest it."""
        number = BATCHES.index(batch)
        rows = [{"SaleId": sale, "UnitId": unit, "AgentId": sale % 3 + 1} for sale, unit in batch.items()]
        lines = [line(sqlserver("u", row, 10 + number)) for row in rows]
        self.land(f"{number}.jsonl", [*lines, b'{"no": "event"}'], topic=SQLSERVER_TOPIC)
        self.run("ingest")

    def erase(self) -> None:
        """Remove an agent."""
        self.run("erase", agent=str(AGENT), yes=True)

    def rescale(self) -> None:
        """Write the sales into twice as many buckets."""
        spec = self.folder / "wide.yaml"
        spec.write_text(self.spec.read_text(encoding="utf-8").replace("buckets: 1", "buckets: 2"), encoding="utf-8")
        wide = replace(self, spec=spec)
        SmallLake.run(wide, "services", action="run", table="sales", service="rescale", all=True)

    def serve_tables(self) -> None:
        """All services of all tables, due or not."""
        for service in ("compaction", "clustering", "clean", "archive"):
            self.run("services", action="run", table=None, service=service, all=True)

    def replay(self) -> None:
        """Try the records again that could not be used."""
        self.run("quarantine", action="replay", all=True, because="tried again", by="test")

    def load(self) -> None:
        """Load a file, once more if it was loaded before."""
        file = self.folder / "rates.csv"
        file.write_text("currency,rate\nEUR,1\nUSD,2\n", encoding="utf-8")
        self.run("load", table="rates", from_path=str(file), format=None, delimiter=",", operation=None, again=True)

    def recompute(self) -> None:
        """Compute the mart again."""
        given: dict[str, Any] = {"layer": LAYER, "from_date": "2026-01-01", "to_date": "2026-01-02", "yes": True}
        self.run("recompute", mart=None, rules=None, dry_run=False, undo=None, **given)

    def unfinished(self) -> dict[Ailment, str]:
        """What the doctor says is unfinished, and what it says is to be done; a restore comes first."""
        spec = read_lake_spec(self.settings)
        layouts = {layout.name: layout for layout in all_layouts(spec)}
        found = [*findings_of(context_of("doctor", self.settings, spec=spec, action="check"), layouts)]
        return {kind: each.then for kind in _UNFINISHED for each in found if each.ailment is kind}

    def get_out(self) -> None:
        """Do what the doctor says until it says no more of unfinished work; AssertionError when that does not help."""
        for _ in range(_MOST_ADVICE):
            if not (advice := self.unfinished()):
                return
            kind, then = next(iter(advice.items()))
            if kind is Ailment.PENDING_RESTORE:
                words = then.split()
                assert (words[:2], words[3:]) == (["lakehouse", "restore"], ["--yes"]), then
                self.run("restore", to=words[2], yes=True)
            elif kind is Ailment.ERASURE:
                self.erase()
            else:
                self.run("doctor", action="repair", table=None, deep=False, yes=True)
        assert not self.unfinished(), self.unfinished()

    def restore(self) -> None:
        """Go back to the savepoint, where it is still kept."""
        if SavepointRecords(self.settings).find(SAVEPOINT):
            self.run("restore", to=SAVEPOINT, yes=True)


Command = Callable[[PairLake], object]
COMMANDS: Mapping[str, Command] = {
    "restore": PairLake.restore,
    "erase": PairLake.erase,
    "rescale": PairLake.rescale,
    "services": PairLake.serve_tables,
    "replay": PairLake.replay,
    "load": PairLake.load,
    "recompute": PairLake.recompute,
}
KINDS = tuple(f"{name}, then another" for name in COMMANDS)
"""Of each command cut off; the others follow it in turns."""
SAMPLED_POINTS = 4
"""Of each kind in a slice, each followed by another command; the next kind begins with the next one."""


@dataclass
class PairTrial:
    """A lake in which the first command is cut off; its retry is the second one, and then the way out."""

    kind: str
    lake: PairLake
    first: str
    second: str
    is_cut_off: bool = False

    @property
    def base(self) -> Path:
        return self.lake.folder

    def act(self) -> object:
        if not self.is_cut_off:
            self.is_cut_off = True
            return COMMANDS[self.first](self.lake)
        with suppress(LakehouseError):  # in one sentence, before it changes anything
            COMMANDS[self.second](self.lake)
        self.lake.get_out()
        return None

    def look(self, operation: str, *, stuck: str, seconds: float) -> Point:
        name = f"{operation}, then {self.second}"
        return Point(kind=self.kind, operation=name, seconds=round(seconds, 1), stuck=stuck)

    def go_on(self, point: Point) -> Point:
        def go_on() -> None:
            self.lake.go_on(is_held=False)
            # A plan, and a load that is not repeated, wait for the next run of the services.
            if "services" in (self.first, self.second) or self.first == "load":
                self.lake.serve_tables()

        stuck = retry(go_on)
        units = {**FIRST, **SECOND, **THIRD}

        def assert_right() -> None:
            self.lake.assert_table_is(units)
            self.lake.assert_mart_is(units)
            self.lake.assert_served_is(units)
            assert not self.lake.unfinished()

        return judge_lake(self.kind, point.operation, self.lake, assert_right, stuck=stuck, seconds=point.seconds)


def evenly(most: int) -> Choose:
    """So many operations of all, from the first to the last, before each."""

    def choose(operations: Sequence[str]) -> Iterator[tuple[str, str]]:
        step = max(1, (len(operations) - 1) // max(1, most - 1))
        yield from ((name, "before") for name in operations[::step][:most])

    return choose


def followers(first: str) -> list[str]:
    """The other commands, from the one after it on."""
    names = [*COMMANDS]
    at = names.index(first)
    return [*names[at + 1 :], *names[:at]]


class Pairs:
    """Runs the pairs; the lake that all begin with is made once."""

    def __init__(self, stops: Stops, spark: SparkSession, folder: Path) -> None:
        self._stops, self._spark, self._folder = stops, spark, folder
        self._made: PairLake | None = None

    def run(self, kind: str, choose: Choose) -> Tried:
        """Cut the first command off at the chosen operations; the others follow in turns."""
        first = kind.partition(",")[0]
        others = followers(first)
        prepared, place = self._prepare(), self._folder / first

        def copy(name: str) -> PairTrial:
            number = name.partition("-")[0]
            second = others[int(number) % len(others)] if number.isdigit() else others[0]
            return PairTrial(kind=kind, lake=prepared.copy(place / name), first=first, second=second)

        return self._stops.try_all(kind, copy, choose)

    def _prepare(self) -> PairLake:
        if self._made is None:
            self._made = make_pair_lake(self._spark, self._folder / "made")
        return self._made


def make_pair_lake(spark: SparkSession, folder: Path) -> PairLake:
    """Two batches went through all of the lake, and a savepoint was taken after the first."""
    small = make_small_lake(spark, folder)
    text = small.spec.read_text(encoding="utf-8")
    text = text.replace("log: sales_log\n", f"{_AGENT_COLUMN}log: sales_log\n").replace(
        "[unit_id]", "[unit_id, agent_id]"
    )
    small.spec.write_text(text.replace("marts: marts\n", f"{_PEOPLE_AND_LOAD}marts: marts\n"), encoding="utf-8")
    lake = PairLake(spark=spark, folder=folder, spec=small.spec)
    for step in (lambda: lake.take_in(FIRST), lake.split, lake.load, lake.keep, lake.refresh, lake.serve):
        step()
    for step in (lambda: lake.take_in(SECOND), lake.split, lake.refresh, lake.serve):
        step()
    return lake
