"""How much of a table's past has to stay: what its targets say, and what those who read it still need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_jobs.contracts.checkpoints import needed_from
from spark_jobs.contracts.instants import Instant, format_instant
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

_OF_ONE_COMMIT = frozenset(METADATA_PREFIX + name for name in ("run", "task", "changes", "changes_columns", "service"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """``earliest`` is the oldest instant as of which the table stays readable; ``held_by`` names what wants that.

    ``commits`` is how many of the newest writes that is. ``lost`` are consumers whose place is on the timeline no more:
    they read the whole table next time, whatever is kept.
    """

    earliest: Instant
    commits: int
    held_by: str
    lost: tuple[str, ...] = ()


def plan_retention(
    timeline: Timeline, consumers: Mapping[str, ConsumerState], targets: ServiceTargets, clock: datetime
) -> Retention | None:
    """What cleaning has to leave; None for a table without a commit."""
    if not timeline.writes:
        return None
    times = [write.time for write in timeline.writes]
    oldest_kept = format_instant(clock - timedelta(hours=targets.keep_hours))
    wanted = {
        "keep_commits": times[-min(targets.keep_commits, len(times))],
        "keep_hours": max((time for time in times if time <= oldest_kept), default=times[0]),
    }
    # Of who is within a commit, that commit: its files are still to be read.
    places = {
        name: needed_from(state.checkpoints[timeline.table])
        for name, state in consumers.items()
        if _reads(state, timeline)
    }
    wanted |= {f"consumer {name}": place for name, place in places.items() if timeline.holds(place)}
    # Hudi keeps the files of a savepoint from the cleaner, and then refuses to read the table as of it when a clean
    # retained less: so the clean has to retain it.
    wanted |= {f"savepoint {instant}": instant for instant in timeline.savepoints if timeline.holds(instant)}
    held_by, earliest = min(wanted.items(), key=lambda entry: entry[1])
    return Retention(
        earliest=earliest,
        commits=sum(1 for time in times if time >= earliest),
        held_by=held_by,
        lost=tuple(sorted(name for name, place in places.items() if not timeline.holds(place))),
    )


def newest_with_metadata(timeline: Timeline) -> Instant:
    """The oldest commit that is the newest to say something: what it says would be forgotten without it."""
    newest: dict[str, Instant] = {}
    for write in timeline.writes:
        for key in timeline.metadata(write):
            if key.startswith(METADATA_PREFIX) and key not in _OF_ONE_COMMIT:
                newest[key] = write.time
    return min(newest.values(), default=timeline.writes[-1].time)


def _reads(state: ConsumerState, timeline: Timeline) -> bool:
    return timeline.table in state.checkpoints
