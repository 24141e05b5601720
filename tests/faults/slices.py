"""The campaign in shares: a kind of what is interrupted; and slices, which have every kind.

``make faults`` tries all of every share. A slice tries less of each: every third of the operations that differ, what
every write does by turns (:mod:`tests.faults.stops`), one place of a driver for each fate, a fifth to a third of the
seeds, a pair of crashes, two requests of an object store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.faults import backfills, commands, kills, pairs, races, store_stops, store_weather
from tests.faults.lake_scenarios import LAKE_SCENARIOS
from tests.faults.scenarios import SCENARIOS

STOPS, LAKES, ZOMBIES, RACES, KILLS = "stops", "lakes", "zombies", "races", "kills"
COMMANDS, PAIRS, STORE, WEATHER = "commands", "pairs", "store", "weather"
KINDS_OF = {
    COMMANDS: commands.KINDS,
    RACES: (backfills.KIND, *races.KINDS),
    KILLS: (kills.KIND,),
    WEATHER: store_weather.KINDS,
    STORE: store_stops.KINDS,
    PAIRS: pairs.KINDS,
    LAKES: tuple(scenario.kind for scenario in LAKE_SCENARIOS),
    STOPS: tuple(scenario.kind for scenario in SCENARIOS),
    ZOMBIES: tuple(scenario.kind for scenario in SCENARIOS if scenario.task),
}
"""The parts, and the kinds in each. What takes longest comes first, so that workers end together."""
NUMBERED = {
    backfills.KIND: ("backfills", 6),
    kills.KIND: ("lakes", 4),
    **dict.fromkeys(store_weather.KINDS, ("storms", store_weather.SEEDS)),
}
"""Kinds with seeds that take minutes each: the option that says how many, and how many there are."""
_AT_A_TIME = {backfills.KIND: 2, kills.KIND: 1, **dict.fromkeys(store_weather.KINDS, 1)}
"""Of these, how many a share has."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a process does at a time: a kind of a part; of what has long seeds some of them."""

    part: str
    kind: str
    numbers: range | None = None

    @property
    def arguments(self) -> list[str]:
        """The command line's."""
        found = ["--part", self.part, "--kind", self.kind]
        if self.numbers:
            found += ["--first", f"{self.numbers.start}", f"--{NUMBERED[self.kind][0]}", f"{len(self.numbers)}"]
        return found


def shares_of(part: str, *kinds: str) -> tuple[Share, ...]:
    """The shares of a part, or of some of its kinds."""
    return tuple(share for kind in kinds or KINDS_OF[part] for share in _shares_of_kind(part, kind))


def _shares_of_kind(part: str, kind: str) -> Iterator[Share]:
    if kind in NUMBERED:
        count, step = NUMBERED[kind][1], _AT_A_TIME[kind]
        yield from (Share(part, kind, numbers=range(first, first + step)) for first in range(0, count, step))
    else:
        yield Share(part, kind)


ALL = tuple(share for part in KINDS_OF for share in shares_of(part))
"""The whole campaign."""
_WRITES = ("append", "upsert, copy-on-write", "delta, merge-on-read", "overwrite")
_SERVICES = ("upsert, clean, archive", "compaction", "rescale", "clustering")
_RESTORES = ("restore, copy-on-write", "restore, merge-on-read")
_CREATIONS = ("create, merge-on-read", "create, append-only")
_ROLLBACKS = ("rollback, copy-on-write", "rollback, merge-on-read")
SAMPLED = ("--sampled", "--seeds=2")
"""Options of the campaign with which slices try their shares."""
SLICES = {
    "faults-stops-1": shares_of(STOPS, *_CREATIONS, *_WRITES, *_ROLLBACKS),
    "faults-stops-2": shares_of(STOPS, *_SERVICES, *_RESTORES),
    "faults-lakes": shares_of(LAKES),
    "faults-commands": shares_of(COMMANDS),
    "faults-zombies": shares_of(ZOMBIES),
    "faults-races": (*shares_of(RACES, *races.KINDS), *shares_of(RACES, backfills.KIND)[:1]),
    "faults-kills": shares_of(KILLS)[:1],
    "faults-pairs": shares_of(PAIRS),
    "faults-store": shares_of(STORE),
    "faults-weather": tuple(shares_of(WEATHER, kind)[0] for kind in store_weather.KINDS),
}
"""By name, each at most about ten minutes on two cores."""
