"""The part of the campaign that every change has to pass: of each kind the moment at which it matters most.

A write counts from one operation on. Right before it everything is written and nothing may be seen; right after it
everything is there and whoever wrote it does not know. Appends, rows of log files, compaction, rollback and restore are
stopped at one of the two, and jobs at the last thing that they write beside tables. One race, one driver that is paused
and one that is killed, both right before their commit. All other operations and scenarios are in slices.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from tests.faults import races
from tests.faults.campaign import Session, Tries, report, run_in_one_session
from tests.faults.lake_scenarios import LAKE_SCENARIOS, around_last_file
from tests.faults.scenarios import SCENARIOS
from tests.faults.slices import STOPS
from tests.faults.stops import AFTER, BEFORE, around_completion, completion
from tests.faults.verdicts import Tried
from tests.faults.zombies import Fate, Zombies

STOPPED: dict[str, tuple[str, ...]] = {
    "append": (AFTER,),
    "delta, merge-on-read": (AFTER,),
    "compaction": (AFTER,),
    "rollback, merge-on-read": (BEFORE,),
    "restore, merge-on-read": (BEFORE,),
}
"""Sides of the operation that ends the scenario; before that of rows of log files a driver is killed."""
LAST_FILES: dict[str, tuple[str, ...]] = {
    "split, its index and consumer": (BEFORE,),
    "serve once more": (BEFORE,),
}
PAUSED, KILLED = ("append", Fate.LOCK_REMOVED), ("delta, merge-on-read", Fate.KILLED)
RACE, SEED = races.KINDS[0], 1


def main(argv: Sequence[str] | None = None) -> int:
    """Try the sample in one session with one driver, which is killed in the end; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m tests.faults.sample", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write all that was tried to this file")
    return report(run_in_one_session(_try), parser.parse_args(argv).json)


def _try(session: Session, folder: Path) -> Iterator[Tried]:
    tries, scenarios = Tries(session, folder), {scenario.kind: scenario for scenario in SCENARIOS}
    with closing(Zombies()) as zombies:
        zombies.start()
        for kind, sides in STOPPED.items():
            yield tries.stops.run(scenarios[kind], tries.home(STOPS, scenarios[kind]), around_completion(*sides))
        yield tries.races(RACE, zombies.driver(), range(SEED, SEED + 1))
        for kind, fate in (PAUSED, KILLED):
            yield tries.zombies(zombies, scenarios[kind], fate, lambda operations: [completion(operations)])
    for lake_scenario in LAKE_SCENARIOS:
        if sides := LAST_FILES.get(lake_scenario.kind, ()):
            yield tries.lakes.run(lake_scenario, around_last_file(*sides))


if __name__ == "__main__":
    sys.exit(main())
