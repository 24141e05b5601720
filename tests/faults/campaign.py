"""Everything that can be interrupted, interrupted: ``make faults``; ends with a table of what was lost, doubled, stuck.

*Stops*: the storage stops at an operation, then the platform's own retry. *Zombies*: a driver process is paused or
killed at an operation while its retry works elsewhere. *Races*: two processes at work on one table. Each time the rows
must be right by Spark and by the Rust reader, the next commit must succeed, and nothing may be left over.
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
from tests.faults import races
from tests.faults.backfills import race_backfills
from tests.faults.drivers import JARS, open_driver
from tests.faults.homes import Home
from tests.faults.scenarios import SCENARIOS, Scenario
from tests.faults.stops import Stops
from tests.faults.storage import Storage, close_session, open_faulty_session
from tests.faults.verdicts import HEAD, Tried
from tests.faults.zombies import PLACES, Fate, Zombies

PARTS = ("stops", "zombies", "races")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign, print the table, and give 1 when anything in it is wrong."""
    options = _parse(argv)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    found: list[Tried] = []
    with tempfile.TemporaryDirectory(prefix="lakehouse-faults-") as folder:
        spark, storage = open_faulty_session(Settings(driver_memory="2g"), JARS)
        try:
            for tried in _run(options, spark, storage, Path(folder)):
                found.append(tried)
                print(f"{tried.kind}: {len(tried.points)} points tried", file=sys.stderr, flush=True)
        finally:
            close_session(spark)
    points = [point for tried in found for point in tried.points]
    if options.json:
        options.json.write_text(json.dumps([asdict(point) for point in points], indent=1), encoding="utf-8")
    wrong = [point for point in points if point.said]
    for point in wrong:
        print(f"{point.kind}: {point.operation}: {point.said}")
    print(format_table(HEAD, [tried.cells() for tried in found]))
    return int(bool(wrong))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.campaign", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="one part alone")
    parser.add_argument("--kind", action="append", choices=[s.kind for s in SCENARIOS], help="one scenario alone")
    parser.add_argument(
        "--every", type=int, default=1, help="stops: try every n-th operation (default: all, both sides)"
    )
    parser.add_argument("--offset", type=int, default=0, help="the first of the operations, places and seeds to try")
    parser.add_argument("--pauses", type=int, default=PLACES, help="zombies: how many places (default: all, 10)")
    parser.add_argument("--seeds", type=int, default=20, help="races: how many of each kind (default: 20)")
    parser.add_argument("--backfills", type=int, default=20, help="races: backfills beside a schedule (default: 20)")
    parser.add_argument("--json", type=Path, help="also write every point to this file")
    return parser.parse_args(argv)


def _run(options: argparse.Namespace, spark: SparkSession, storage: Storage, folder: Path) -> Iterator[Tried]:
    parts = options.part or PARTS
    chosen = [scenario for scenario in SCENARIOS if scenario.kind in (options.kind or (scenario.kind,))]
    stops = Stops(storage)

    def home(part: str, scenario: Scenario) -> Home:
        return Home(spark, folder / part / f"{SCENARIOS.index(scenario)}", scenario.layout)

    if "stops" in parts:
        for scenario in chosen:
            yield stops.run(scenario, home("stops", scenario), every=options.every, offset=options.offset)
    if "zombies" in parts:
        yield from _zombies(options, [s for s in chosen if s.task], stops, lambda s: home("zombies", s))
    if "races" in parts:
        seeds, lakes = (range(options.offset, options.offset + n) for n in (options.seeds, options.backfills))
        with open_driver() as driver:
            for number, kind in enumerate(races.KINDS):
                place = Home(spark, folder / "races" / f"{number}", races.LAYOUTS[0])
                yield races.race(kind, driver, place, seeds)
            yield race_backfills(spark, driver, folder / "races" / "backfills", lakes)


def _zombies(
    options: argparse.Namespace, chosen: list[Scenario], stops: Stops, find_home: Callable[[Scenario], Home]
) -> Iterator[Tried]:
    zombies = Zombies()
    try:
        for scenario in chosen:
            home = find_home(scenario)
            scenario.prepare(home.table("prepared"))
            names = stops.operations(scenario.act, home.copy("counted"))
            for fate in Fate:
                yield zombies.run(scenario, home, fate, operations=names, count=options.pauses, offset=options.offset)
    finally:
        zombies.close()


if __name__ == "__main__":
    sys.exit(main())
