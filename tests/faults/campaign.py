"""Everything that can be interrupted, interrupted: ``make faults``; ends with a table of what was lost, doubled, stuck.

*Stops*: the storage stops at an operation, then the platform's own retry. *Lakes*: the same for what jobs write beside
tables. *Commands*: one that rewrites is cut off, another follows, and the doctor's advice leads out. *Zombies*: a
driver process is paused or killed at an operation while its retry works elsewhere. *Races*: two processes at work on
one table. *Kills*: drivers that take messages from Kafka are killed at random moments. Each time the rows must be right
by Spark and by the Rust reader, the next commit must succeed, and nothing may be left over. *Pairs*: the recovery from
a stop is stopped as well. *Store*: an object store stops at a request. *Weather*: requests to it fail now and then, in
all ways, while tables, jobs and two writers are at work.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from tests.faults import backfills, commands, kills, pairs, races, store_stops, store_weather
from tests.faults.drivers import Driver
from tests.faults.homes import Home
from tests.faults.lake_scenarios import LAKE_SCENARIOS, LakeStops, outside_tables
from tests.faults.scenarios import SCENARIOS, Scenario
from tests.faults.slices import (
    ALL,
    COMMANDS,
    KILLS,
    KINDS_OF,
    LAKES,
    NUMBERED,
    PAIRS,
    RACES,
    STOPS,
    STORE,
    WEATHER,
    ZOMBIES,
    Share,
)
from tests.faults.stops import SIDES, Stops, TableTrial, every_point, every_third, in_turns, one_alike
from tests.faults.storage import Storage, open_faulty_session
from tests.faults.store_stops import StoreStops, around_completion_and_elsewhere
from tests.faults.store_weather import StoreWeather
from tests.faults.stores import Store, opening_store
from tests.faults.verdicts import HEAD, Tried
from tests.faults.workers import Processes
from tests.faults.zombies import PLACES, ChoosePlaces, Fate, Zombies, places_of, spread
from tests.support.own_session import close_engine

COUNTS = ("places", "seeds", "first")
"""Options that say how much of a share is tried; how many seeds one with long seeds has is its own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign, print the table, and give 1 when anything in it is wrong."""
    options = _parse(argv)
    shares = _chosen(options)
    if options.workers > 1:
        given = [f"--{name}={getattr(options, name)}" for name in COUNTS] + ["--sampled"] * options.sampled
        with closing(Processes(options.workers)) as processes:
            found = processes.run(shares, given)
    else:
        with closing(Zombies()) as zombies:
            found = run_in_one_session(lambda session, folder: _try(shares, options, Tries(session, folder), zombies))
    return report(found, options.json)


def try_arguments(arguments: Sequence[str], session: Session, folder: Path, zombies: Zombies) -> list[Tried]:
    """What the command line's arguments choose, all in this session and this folder."""
    options = _parse(arguments)
    return list(_try(_chosen(options), options, Tries(session, folder), zombies))


def report(found: Sequence[Tried], file: Path | None) -> int:
    """Print what is wrong and the table; 1 when anything is. ``file`` gets all that was tried."""
    if file:
        file.write_text(json.dumps([asdict(tried) for tried in found], indent=1), encoding="utf-8")
    wrong = [point for tried in found for point in tried.points if point.wrong]
    for point in wrong:
        print(f"{point.kind}: {point.operation}: {point.wrong}")
    print(format_table(HEAD, [tried.cells() for tried in found]))
    return int(bool(wrong))


def _chosen(options: argparse.Namespace) -> list[Share]:
    return [
        share
        for share in ALL
        if share.part in (options.part or KINDS_OF) and share.kind in (options.kind or (share.kind,))
    ]


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    kinds = list(dict.fromkeys(kind for part in KINDS_OF.values() for kind in part))
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m tests.faults.campaign", description=__doc__)
    parser.add_argument("--part", action="append", choices=KINDS_OF, help="one part alone")
    parser.add_argument("--kind", action="append", choices=kinds, help="one kind alone")
    parser.add_argument("--side", action="append", choices=SIDES, help="stops, lakes: this side of all operations")
    parser.add_argument("--operation", action="append", help="stops, lakes: one operation alone, as a failure names it")
    counts = {
        "places": ("zombies: how many places, evenly spread", PLACES),
        "seeds": ("races: how many of each kind", races.SEEDS),
        "backfills": ("races: backfills beside a schedule", NUMBERED[backfills.KIND][1]),
        "lakes": (f"kills: lakes of {kills.SCHEDULES} schedules", NUMBERED[kills.KIND][1]),
        "storms": ("weather: seeds of each kind", store_weather.SEEDS),
    }
    for name, (what, default) in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what} (default: {default})")
    first = "the first of the places, seeds, backfills, lakes and storms"
    parser.add_argument("--first", type=int, default=0, help=first)
    parser.add_argument(
        "--sampled", action="store_true", help="less of each kind, as slices do (tests/faults/slices.py)"
    )
    parser.add_argument("--json", type=Path, help="also write all that was tried to this file")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time, each with a share (default: 1)")
    return parser.parse_args(argv)


@dataclass(frozen=True)
class Session:
    """The campaign's own session, the switch of its storage, and its object store."""

    spark: SparkSession
    storage: Storage
    store: Store


@contextmanager
def opening_session() -> Iterator[tuple[Session, Path]]:
    """A session, and a folder of its own."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    with (
        tempfile.TemporaryDirectory(prefix="lakehouse-faults-", ignore_cleanup_errors=True) as folder,
        opening_store(Path(folder) / "store") as store,
    ):
        spark, storage = open_faulty_session(Settings(driver_memory="2g"))
        try:
            yield Session(spark, storage, store), Path(folder)
        finally:
            close_engine(spark)


def run_in_one_session(run: Callable[[Session, Path], Iterator[Tried]]) -> list[Tried]:
    """What ``run`` finds in a session and a folder of its own."""
    found: list[Tried] = []
    with opening_session() as (session, folder):
        for tried in run(session, folder):
            found.append(tried)
            print(f"{tried.kind}: {len(tried.points)} points tried", file=sys.stderr, flush=True)
    return found


class Tries:
    """Where the kinds are tried: each has a folder, and prepares what it begins with once."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.spark, self.folder, self.store = session.spark, folder, session.store
        self.stops = Stops(session.storage)

    @cached_property
    def lakes(self) -> LakeStops:
        """The scenarios of lakes."""
        return LakeStops(self.stops, self.spark, self.folder / LAKES)

    @cached_property
    def commands(self) -> commands.Pairs:
        """Two commands, one after the other."""
        return commands.Pairs(self.stops, self.spark, self.folder / COMMANDS)

    @cached_property
    def stored(self) -> StoreStops:
        """The scenarios on the object store."""
        return StoreStops(self.store, self.spark, f"{self.folder.name}-{STORE}", self.stops.storage.wait_for_tasks)

    @cached_property
    def weather(self) -> StoreWeather:
        """What is done in bad weather."""
        return StoreWeather(self.store, self.spark, f"{self.folder.name}-{WEATHER}", self.folder / WEATHER)

    def home(self, part: str, scenario: Scenario) -> Home:
        """The folder of a scenario."""
        return Home(self.spark, self.folder / part / f"{SCENARIOS.index(scenario)}", scenario.layout)

    def zombies(self, zombies: Zombies, scenario: Scenario, fate: Fate, choose: ChoosePlaces) -> Tried:
        """Drivers at the chosen operations of a scenario."""
        home = self.home(f"{ZOMBIES}-{fate.name}", scenario)
        self.stops.prepare(scenario, home)
        names = self.stops.operations(TableTrial(scenario, home.copy("recorded")))
        return zombies.run(scenario, home, fate, names, choose)

    def races(self, kind: str, driver: Driver, numbers: range) -> Tried:
        """Races of a kind with these seeds; ``driver`` is the other one."""
        folder = self.folder / RACES / f"{KINDS_OF[RACES].index(kind)}"
        if kind == backfills.KIND:
            return backfills.race_backfills(self.spark, driver, folder, numbers)
        return races.race(kind, driver, lambda layout, name: Home(self.spark, folder, layout).table(name), numbers)

    def pairs(self, kind: str, firsts: int, seconds: int) -> Tried:
        """Pairs of crashes in a scenario of tables or of lakes."""
        tries = pairs.Pairs(self.stops, self.folder / PAIRS / f"again-{pairs.KINDS.index(kind)}")
        for scenario in SCENARIOS:
            if scenario.kind == kind:
                home = self.home(PAIRS, scenario)
                self.stops.prepare(scenario, home)
                copy = partial(_copy_table, scenario, home)
                return tries.try_all(kind, copy, firsts, seconds, every_point())
        lake_scenario = next(scenario for scenario in LAKE_SCENARIOS if scenario.kind == kind)
        return tries.try_all(
            kind, self.lakes.copies(lake_scenario, PAIRS), firsts, seconds, outside_tables(every_point())
        )


def _copy_table(scenario: Scenario, home: Home, name: str) -> TableTrial:
    return TableTrial(scenario, home.copy(name))


def _try(shares: Sequence[Share], options: argparse.Namespace, tries: Tries, zombies: Zombies) -> Iterator[Tried]:
    """Every kind, one after the other."""
    kinds = {part: {share.kind for share in shares if share.part == part} for part in KINDS_OF}
    yield from _try_drivers(kinds, options, tries, zombies)
    choose = every_point(options.side or (), options.operation or ())
    for turn, lake_scenario in enumerate(LAKE_SCENARIOS):
        if lake_scenario.kind in kinds[LAKES]:
            some = every_third(one_alike(choose, turn), turn // 2) if options.sampled else choose
            yield tries.lakes.run(lake_scenario, some)
    for turn, kind in enumerate(commands.KINDS):
        if kind in kinds[COMMANDS]:
            some = commands.evenly(commands.SAMPLED_POINTS) if options.sampled else one_alike(choose, turn)
            yield tries.commands.run(kind, some)
    for turn, scenario in enumerate(SCENARIOS):
        if scenario.kind in kinds[STOPS]:
            some = every_third(in_turns(one_alike(choose, turn), turn), turn // 2) if options.sampled else choose
            yield tries.stops.run(scenario, tries.home(STOPS, scenario), some)
        if scenario.kind in kinds[STORE]:
            places = store_stops.SAMPLED_PLACES if options.sampled else store_stops.PLACES
            yield tries.stored.run(scenario, around_completion_and_elsewhere(places))
    for kind in KINDS_OF[PAIRS]:
        if kind in kinds[PAIRS]:
            yield tries.pairs(kind, *(pairs.SAMPLED if options.sampled else (pairs.FIRSTS, pairs.SECONDS)))


def _try_drivers(
    kinds: Mapping[str, Collection[str]], options: argparse.Namespace, tries: Tries, zombies: Zombies
) -> Iterator[Tried]:
    def numbers(count: int) -> range:
        return range(options.first, options.first + count)

    for kind in KINDS_OF[RACES]:
        if kind in kinds[RACES]:
            count = options.backfills if kind == backfills.KIND else options.seeds
            yield tries.races(kind, zombies.driver(), numbers(count))
    for kind in KINDS_OF[WEATHER]:
        if kind in kinds[WEATHER]:
            yield tries.weather.run(kind, numbers(options.storms), zombies.driver)
    if kinds[KILLS]:
        yield kills.kill_drivers(tries.spark, tries.folder / KILLS, numbers(options.lakes))
    for turn, scenario in enumerate(SCENARIOS):
        if scenario.kind in kinds[ZOMBIES]:
            for fate in Fate:
                places = places_of(fate, numbers(options.places), turn if options.sampled else None)
                yield tries.zombies(zombies, scenario, fate, spread(places))


if __name__ == "__main__":
    sys.exit(main())
