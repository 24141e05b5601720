"""The campaign in shares: a kind of what is interrupted, of stops one side of it; and slices, which are all of them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.faults import backfills, kills, races
from tests.faults.lake_scenarios import LAKE_SCENARIOS
from tests.faults.scenarios import SCENARIOS
from tests.faults.stops import AFTER, BEFORE, SIDES

STOPS, LAKES, ZOMBIES, RACES, KILLS = "stops", "lakes", "zombies", "races", "kills"
KINDS_OF = {
    RACES: (backfills.KIND, *races.KINDS),
    KILLS: (kills.KIND,),
    LAKES: tuple(scenario.kind for scenario in LAKE_SCENARIOS),
    STOPS: tuple(scenario.kind for scenario in SCENARIOS),
    ZOMBIES: tuple(scenario.kind for scenario in SCENARIOS if scenario.task),
}
"""The parts, and the kinds in each. What takes longest comes first, so that workers end together."""
PARTS_WITH_SIDES = (STOPS, LAKES)


@dataclass(frozen=True, slots=True)
class Share:
    """What one process does: a kind of a part, of those with sides one of them."""

    part: str
    kind: str
    side: str = ""

    @property
    def arguments(self) -> list[str]:
        """The command line's."""
        return ["--part", self.part, "--kind", self.kind, *(["--side", self.side] if self.side else [])]


def shares_of(part: str, *kinds: str, sides: tuple[str, ...] = SIDES) -> tuple[Share, ...]:
    """The shares of a part, or of some of its kinds and sides."""
    return tuple(
        Share(part, kind, side)
        for kind in kinds or KINDS_OF[part]
        for side in (sides if part in PARTS_WITH_SIDES else ("",))
    )


ALL = tuple(share for part in KINDS_OF for share in shares_of(part))
"""The whole campaign."""
_RESTORES = ("restore, copy-on-write", "restore, merge-on-read")
_CREATIONS = ("create, merge-on-read", "create, append-only")
_ROLLBACKS = ("rollback, copy-on-write", "rollback, merge-on-read")
SLICES = {
    "faults-stops-1": shares_of(STOPS, *_CREATIONS),
    "faults-stops-2": shares_of(STOPS, "append", "upsert, copy-on-write", "delta, merge-on-read", "overwrite"),
    "faults-stops-3": shares_of(STOPS, "upsert, clean, archive", "clustering"),
    "faults-stops-4": shares_of(STOPS, "compaction", "rescale", _ROLLBACKS[0]),
    "faults-stops-5": shares_of(STOPS, _ROLLBACKS[1], _RESTORES[0]),
    "faults-stops-6": shares_of(STOPS, _RESTORES[1]),
    "faults-lakes-1": shares_of(LAKES, sides=(BEFORE,)),
    "faults-lakes-2": shares_of(LAKES, sides=(AFTER,)),
    "faults-zombies": shares_of(ZOMBIES),
    "faults-races": shares_of(RACES, *races.KINDS),
    "faults-backfills": shares_of(RACES, backfills.KIND),
    "faults-kills": shares_of(KILLS),
}
"""By name, each at most about ten minutes on two cores."""
