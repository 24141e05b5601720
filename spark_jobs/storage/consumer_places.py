"""Where consumers are on the timeline of what they read: how many commits behind, and whether their place is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median

from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.checkpoints import needed_from
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.timeline import Timeline


class PlaceState(StrEnum):
    """What has become of a consumer's place."""

    ON_TIMELINE = "on the timeline"
    LOST = "lost"
    """No longer there, or not yet: the consumer reads the whole table next time."""
    NO_TABLE = "no table"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPlace:
    """How far one consumer has read one table.

    ``behind`` counts the commits after its place that changed rows. ``every`` is the usual time between two of its last
    moves, None when it has moved too seldom; ``moved_at`` is the clock of the last one, "" when there was none.
    """

    consumer: str
    table: str
    checkpoint: str
    behind: int
    state: PlaceState
    every: timedelta | None = None
    moved_at: str = ""


def places_of(consumers: Mapping[str, ConsumerState], timelines: Mapping[str, Timeline]) -> Iterator[ConsumerPlace]:
    """The places of all consumers on these timelines, by consumer and table."""
    for name, state in sorted(consumers.items()):
        for table, checkpoint in sorted(state.checkpoints.items()):
            if timeline := timelines.get(table):
                yield place_of(name, checkpoint, timeline, state.moved)


def place_of(consumer: str, checkpoint: str, timeline: Timeline, moved: Sequence[str] = ()) -> ConsumerPlace:
    """The place of one consumer that has read a table up to a checkpoint."""
    later = (write for write in timeline.writes if write.time > checkpoint)
    is_there = timeline.holds(needed_from(checkpoint))
    return ConsumerPlace(
        consumer=consumer,
        table=timeline.table,
        checkpoint=checkpoint,
        behind=sum(1 for write in later if not timeline.is_service(write)),
        state=PlaceState.ON_TIMELINE if is_there else PlaceState.LOST if timeline.writes else PlaceState.NO_TABLE,
        every=_every(moved),
        moved_at=moved[-1] if moved else "",
    )


def _every(moved: Sequence[str]) -> timedelta | None:
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(map(parse_clock, moved))]
    return timedelta(seconds=round(median(gaps))) if gaps else None
