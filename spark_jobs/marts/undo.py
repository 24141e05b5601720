"""The way back from a rewrite: each mart's rows as they were at the savepoint, as one more commit.

Nothing is cut off a timeline: readers go on, consumers see the old rows come back, and what is new in the sources since
then is ingested by the next ordinary run, because the checkpoints of that time come back with the rows.
"""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.row_counts import ROW_COUNTS_KEY
from spark_jobs.lake_spec.marts import CELL_ID, MartSpec
from spark_jobs.marts.definitions import CLOCK, DECLARED, DEFINITION
from spark_jobs.marts.engine import Engine
from spark_jobs.storage.change_feed import CHANGES_KEY, COLUMNS_KEY
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, checkpoint_key
from spark_jobs.storage.forms import KEY_BEFORE, REBUILT
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.timeline import SERVICE_KEY, Timeline
from spark_jobs.storage.writer import OWN_KEYS
from spark_jobs.transforms.cells import is_reshaped
from spark_jobs.transforms.row_counts import count_difference

_OF_ONE_COMMIT = (CHANGES_KEY, COLUMNS_KEY, REBUILT, KEY_BEFORE, ROW_COUNTS_KEY)
_NOT_CARRIED = frozenset({*OWN_KEYS, SERVICE_KEY, *(f"{METADATA_PREFIX}{key}" for key in _OF_ONE_COMMIT)})


def undo(engine: Engine, record: Record) -> list[TableOutcome]:
    """Bring every mart of the record back, each under its lease, and let the savepoints go.

    Their definition comes back too: where the files have another one, the next refresh is blocked.
    """
    engine = replace(engine, applies=frozenset(record.tables))
    marts = [name for name in record.tables if name in engine.context.spec.mart_names]
    outcomes = [_undo_mart(engine, engine.context.spec.mart(name), record) for name in marts]
    SavepointRecords(engine.context.settings).release(engine.context.spark, record)
    return outcomes


def _undo_mart(engine: Engine, mart: MartSpec, record: Record) -> TableOutcome:
    instant = record.tables[mart.name]
    with engine.holding(mart), engine.refreshing(mart, is_held=True) as held:
        refresh, timeline = replace(held, is_undo=True), held.timeline
        if not timeline.holds(instant):
            raise ContractError(f"{mart.name}: its state of {instant} is not on the timeline any more")
        then_df, stored_df = read_table(engine.context.spark, timeline, instant), refresh.stored()
        columns = [name for name in then_df.columns if name != CELL_ID]
        difference_df = refresh.difference(then_df.select(CELL_ID, *columns), stored_df)
        if difference_df.isEmpty() and not is_reshaped(difference_df, stored_df):
            _remember_again(engine, mart, record)
            return TableOutcome(table=mart.name, instant=timeline.last, rows=0, is_committed=False)
        metadata = metadata_at(timeline, instant) | _noted(mart, record)
        if mart.mode.traits.is_appended:
            return refresh.replace_rows(then_df.select(CELL_ID, *columns), metadata)
        counts = count_difference(difference_df).to_metadata()
        return refresh.commit_difference(difference_df, metadata | counts)


def _noted(mart: MartSpec, record: Record) -> dict[str, str]:
    """What the mart's file knew better than its commit of then: refreshes that changed no row make none."""
    then = ConsumerState.from_content(record.consumers.get(mart.name, {}))
    if then.tables.get(mart.name) != record.tables[mart.name]:
        return {}
    places = {checkpoint_key(table): place for table, place in then.checkpoints.items()}
    return places | {name: then.notes[name] for name in (CLOCK, DEFINITION, DECLARED) if name in then.notes}


def _remember_again(engine: Engine, mart: MartSpec, record: Record) -> None:
    """Write the mart's consumer file as it was then, when no row changes and so there is no commit."""
    if mart.name in record.consumers:
        then = ConsumerState.from_content(record.consumers[mart.name])
        ConsumerRegistry(engine.context.settings.base_path).write(mart.name, then, engine.context.clock)


def metadata_at(timeline: Timeline, instant: Instant) -> dict[str, str]:
    """A mart's metadata at an instant: its checkpoints, clock, definition, rules and checksums."""
    found: dict[str, str] = {}
    for write in timeline.writes:
        if write.time <= instant:
            found |= {
                key.removeprefix(METADATA_PREFIX): value
                for key, value in timeline.metadata(write).items()
                if key.startswith(METADATA_PREFIX) and key not in _NOT_CARRIED
            }
    return found
