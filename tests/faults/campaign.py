"""Everything that can be interrupted, interrupted: ``make faults``; ends with a table of what was lost, doubled, stuck.

*Stops*: the storage stops at an operation, then the platform's own retry. *Zombies*: a driver process is paused or
killed at an operation while its retry works elsewhere. *Races*: two processes at work on one table. *Kills*: drivers
that take messages from Kafka are killed at random moments. Each time the rows must be right by Spark and by the Rust
reader, the next commit must succeed, and nothing may be left over.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from tests.faults import backfills, kills, races
from tests.faults.drivers import JARS, open_driver
from tests.faults.homes import Home
from tests.faults.scenarios import SCENARIOS, Scenario
from tests.faults.stops import Stops
from tests.faults.storage import Storage, close_session, open_faulty_session
from tests.faults.verdicts import HEAD, Tried
from tests.faults.workers import run_shares
from tests.faults.zombies import PLACES, Fate, Zombies

KINDS_OF = {
    "races": (backfills.KIND, *races.KINDS),
    "kills": (kills.KIND,),
    "stops": tuple(scenario.kind for scenario in SCENARIOS),
    "zombies": tuple(scenario.kind for scenario in SCENARIOS if scenario.task),
}
"""The parts, and the kinds in each. What takes longest comes first, so that workers end together."""
LAKES = 6
"""In which drivers are killed, with five schedules each."""
COUNTS = ("every", "offset", "pauses", "seeds", "backfills", "lakes")
"""Options that say how much is tried."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign, print the table, and give 1 when anything in it is wrong."""
    options = _parse(argv)
    parts = options.part or list(KINDS_OF)
    shares = [(part, kind) for part in parts for kind in KINDS_OF[part] if kind in (options.kind or (kind,))]
    if options.workers > 1:
        found = run_shares(shares, [f"--{name}={getattr(options, name)}" for name in COUNTS], options.workers)
    else:
        found = _run(shares, options)
    if options.json:
        options.json.write_text(json.dumps([asdict(tried) for tried in found], indent=1), encoding="utf-8")
    wrong = [point for tried in found for point in tried.points if point.said]
    for point in wrong:
        print(f"{point.kind}: {point.operation}: {point.said}")
    print(format_table(HEAD, [tried.cells() for tried in found]))
    return int(bool(wrong))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    kinds = list(dict.fromkeys(kind for part in KINDS_OF.values() for kind in part))
    parser = argparse.ArgumentParser(prog="python -m tests.faults.campaign", description=__doc__)
    parser.add_argument("--part", action="append", choices=KINDS_OF, help="one part alone")
    parser.add_argument("--kind", action="append", choices=kinds, help="one kind alone")
    parser.add_argument(
        "--every", type=int, default=1, help="stops: try every n-th operation (default: all, both sides)"
    )
    parser.add_argument("--offset", type=int, default=0, help="the first of the operations, places and seeds to try")
    parser.add_argument("--pauses", type=int, default=PLACES, help="zombies: how many places (default: all, 10)")
    parser.add_argument("--seeds", type=int, default=20, help="races: how many of each kind (default: 20)")
    parser.add_argument("--backfills", type=int, default=20, help="races: backfills beside a schedule (default: 20)")
    parser.add_argument(
        "--lakes", type=int, default=LAKES, help=f"kills: lakes, of {kills.SCHEDULES} schedules each (default: {LAKES})"
    )
    parser.add_argument("--json", type=Path, help="also write all that was tried to this file")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time, each with a kind (default: 1)")
    return parser.parse_args(argv)


def _run(shares: Sequence[tuple[str, str]], options: argparse.Namespace) -> list[Tried]:
    """One share after the other, in one session."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    found: list[Tried] = []
    with tempfile.TemporaryDirectory(prefix="lakehouse-faults-") as folder:
        spark, storage = open_faulty_session(Settings(driver_memory="2g"), JARS)
        try:
            for tried in _try(shares, options, spark, storage, Path(folder)):
                found.append(tried)
                print(f"{tried.kind}: {len(tried.points)} points tried", file=sys.stderr, flush=True)
        finally:
            close_session(spark)
    return found


def _try(
    shares: Sequence[tuple[str, str]], options: argparse.Namespace, spark: SparkSession, storage: Storage, folder: Path
) -> Iterator[Tried]:
    stops = Stops(storage)

    def chosen(part: str) -> list[str]:
        return [kind for each, kind in shares if each == part]

    def home(part: str, scenario: Scenario) -> Home:
        return Home(spark, folder / part / f"{SCENARIOS.index(scenario)}", scenario.layout)

    if kinds := chosen("races"):
        seeds, lakes = (range(options.offset, options.offset + n) for n in (options.seeds, options.backfills))
        with open_driver() as driver:
            for number, kind in enumerate(kinds):
                place = Home(spark, folder / "races" / f"{number}", races.LAYOUTS[0])
                if kind == backfills.KIND:
                    yield backfills.race_backfills(spark, driver, place.folder, lakes)
                else:
                    yield races.race(kind, driver, place, seeds)
    if chosen("kills"):
        lakes = range(options.offset, options.offset + options.lakes)
        yield kills.kill_drivers(spark, folder / "kills", lakes)
    for scenario in SCENARIOS:
        if scenario.kind in chosen("stops"):
            yield stops.run(scenario, home("stops", scenario), every=options.every, offset=options.offset)
    acting = [scenario for scenario in SCENARIOS if scenario.kind in chosen("zombies")]
    yield from _zombies(options, acting, stops, lambda scenario: home("zombies", scenario))


def _zombies(
    options: argparse.Namespace, acting: list[Scenario], stops: Stops, find_home: Callable[[Scenario], Home]
) -> Iterator[Tried]:
    zombies = Zombies()
    try:
        for scenario in acting:
            home = find_home(scenario)
            scenario.prepare(home.table("prepared"))
            names = stops.operations(scenario.act, home.copy("counted"))
            for fate in Fate:
                yield zombies.run(scenario, home, fate, operations=names, count=options.pauses, offset=options.offset)
    finally:
        zombies.close()


if __name__ == "__main__":
    sys.exit(main())
