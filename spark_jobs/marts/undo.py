"""The way back from a rewrite: each mart's rows as they were at the savepoint, as one more commit.

Nothing is cut off a timeline: readers go on, consumers see the old rows come back, and what is new in the sources since
then is taken in by the next ordinary run, because the checkpoints of that time come back with the rows.
"""

from __future__ import annotations

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.marts import CELL_ID, MartSpec
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.marts.bring_on import Engine
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.reader import read_as_of
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import BUCKETS_KEY, RUN_KEY

_NOT_CARRIED = frozenset({RUN_KEY, BUCKETS_KEY, f"{METADATA_PREFIX}changes"})


def undo(engine: Engine, record: Record) -> list[TableOutcome]:
    """Bring every table of the record back, each under its lease, and let the savepoints go."""
    outcomes = [_bring_back(engine, engine.spec.mart(name), instant) for name, instant in record.tables.items()]
    SavepointRecords(engine.settings).release(engine.spark, record)
    return outcomes


def _bring_back(engine: Engine, mart: MartSpec, instant: str) -> TableOutcome:
    with engine.holding(mart), engine.refreshing(mart, is_held=True) as refresh:
        timeline = refresh.timeline
        if not timeline.holds(instant):
            raise ContractError(f"{mart.name}: its state of {instant} is not on the timeline any more")
        then_df = read_as_of(engine.spark, timeline.path, instant)
        columns = [name for name in then_df.columns if name != CELL_ID]
        difference_df = refresh.difference(then_df.select(CELL_ID, *columns), refresh.stored())
        if difference_df.isEmpty():
            return TableOutcome(table=mart.name, instant=timeline.last, rows=0, is_committed=False)
        return refresh.commit_difference(difference_df, metadata_at(timeline, instant))


def metadata_at(timeline: Timeline, instant: str) -> dict[str, str]:
    """What the mart said of itself at an instant: its checkpoints, clock, definition, rules and checksums."""
    found: dict[str, str] = {}
    for write in timeline.writes:
        if write.time <= instant:
            found |= {
                key.removeprefix(METADATA_PREFIX): value
                for key, value in timeline.metadata(write).items()
                if key.startswith(METADATA_PREFIX) and key not in _NOT_CARRIED
            }
    return found
