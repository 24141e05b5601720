"""The whole lake taken back to a savepoint: every table to its state of then, and every consumer to its place of then.

What was committed since is rolled back by Hudi and gone from the timelines. Tables go back before those they are made
from, so a restore that dies between two tables leaves a lake that the ordinary jobs may work on: a mart of then over
tables of now is refreshed again. (One that dies within a table stops its writers until it is run again.) Run once more,
the restore does what is still to do. The log is last: with it goes back how far the landing folder was ingested, and
what came since is ingested again.

Hudi rolls back in the order in which commits ended, and fails half-way where that is not the one in which they were
begun: after a service that ended beside writers, or in a lake that was copied. So they are put in order first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession

from spark_jobs.contracts.checkpoints import needed_from
from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant
from spark_jobs.contracts.lake_errors import CommitTimesError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.commit_times import is_in_order, put_in_order
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, own_consumers
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.forms import key_before, name_record_key
from spark_jobs.storage.procedures import call
from spark_jobs.storage.recovery import settled_timeline, sweep_markers, with_times
from spark_jobs.storage.restores import drop_plans, read_plan, remove_table
from spark_jobs.storage.savepoints import Record
from spark_jobs.storage.timeline import Timeline

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReturn:
    """One table's way back: ``back_to`` is None for a table that was made later and goes as a whole.

    Of one that ``is_misdated`` the files of commits have lost their times, which are set first.
    """

    table: str
    newest: Instant
    back_to: Instant | None
    commits: int
    is_misdated: bool = False

    def describe(self) -> str:
        """What happens to it, in a few words."""
        if self.back_to is None:
            return "made later: removed"
        first = "the times of its files are set, " * self.is_misdated
        return f"{first}{self.commits} commits taken back" if self.commits else f"{first}stays as it is"


def plan_restore(spec: LakeSpec, record: Record, settings: Settings) -> list[TableReturn]:
    """What a restore would do, in its order; tables that are not there and were not then are left out.

    Raises:
        ContractError: a state is not kept any more. Nothing was changed.
        CommitTimesError: the files of commits lost their times, and these cannot be set where they are.
    """
    if unknown := sorted(set(record.tables) - set(spec.data_tables)):
        raise ContractError(f"savepoint {record.id} is of tables this lake spec does not have: {unknown}")
    return list(_returns(spec, record, settings))


def _returns(spec: LakeSpec, record: Record, settings: Settings) -> Iterator[TableReturn]:
    marts, loads = [mart.name for mart in spec.marts], [load.name for load in spec.loads]
    order = [*reversed(marts), *loads, *spec.split_tables, spec.quarantine, spec.log]
    for name in order:
        timeline = Timeline(table=name, path=settings.table_path(name))
        is_misdated = _is_misdated(timeline)
        back_to = record.tables.get(name)
        if back_to is None:
            if Filesystem(timeline.path).changed_ns("") is not None:  # also what a removal left
                yield TableReturn(
                    table=name, newest=timeline.newest or NO_INSTANT, back_to=None, commits=len(timeline.writes)
                )
            continue
        if back_to not in timeline.savepoints or not timeline.holds(back_to):
            raise ContractError(
                f"{name}: its state of {back_to} is not kept any more (the table was recreated, or its savepoint "
                f"deleted by hand); delete savepoint {record.id} and take another one"
            )
        later = sum(1 for time in (*(write.time for write in timeline.writes), *timeline.pending) if time > back_to)
        newest = timeline.newest or NO_INSTANT
        yield TableReturn(table=name, newest=newest, back_to=back_to, commits=later, is_misdated=is_misdated)


def _is_misdated(timeline: Timeline) -> bool:
    """True when the times of its files are to be set first; CommitTimesError when they cannot be."""
    timeline.check_version()
    if timeline.misdated and not timeline.is_local:
        raise CommitTimesError(table=timeline.table, instants=timeline.misdated)
    return bool(timeline.misdated)


def later_records(records: Iterable[Record], record: Record) -> list[Record]:
    """Savepoints that hold a state which the restore takes away: they go first, or Hudi refuses."""
    return [
        each
        for each in records
        if any(instant > record.tables.get(table, NO_INSTANT) for table, instant in each.tables.items())
    ]


def restore_table(spark: SparkSession, way: TableReturn, settings: Settings) -> TableOutcome:
    """Take one table back and see that it is. The caller holds its lease and that of its services.

    Raises:
        TransientError: the table is not at its state of then; run it again.
    """
    path = settings.table_path(way.table)
    if way.back_to is None:
        remove_table(path)
        return TableOutcome(table=way.table, instant=None, rows=0, is_committed=True)
    timeline = with_times(Timeline(table=way.table, path=path))
    if (plan := read_plan(timeline)) and not plan.is_right:
        drop_plans(timeline)
        timeline = Timeline(table=way.table, path=path)
    if not timeline.pending_restores:  # else the call below goes on with it
        timeline = settled_timeline(spark, way.table, settings, may_be_ahead=True)
    if is_there(timeline, way.back_to):
        return TableOutcome(table=way.table, instant=timeline.last, rows=0, is_committed=False)
    log.info("%s: back to %s", way.table, way.back_to)
    if key := key_before(timeline, way.back_to):  # first: the commits that record it are about to go
        name_record_key(path, key)
    put_in_order_after(timeline, way.back_to)
    call(spark, way.table, path, "rollback_to_savepoint", {"instant_time": way.back_to})
    timeline = Timeline(table=way.table, path=path)
    timeline.check_version()
    if not is_there(timeline, way.back_to):
        raise TransientError(f"{way.table}: it is not back at {way.back_to}; run the restore again")
    sweep_markers(timeline)
    return TableOutcome(table=way.table, instant=timeline.last, rows=0, is_committed=True)


def put_in_order_after(timeline: Timeline, back_to: Instant) -> None:
    """Have a state and what came after it end in the order in which it was begun, as a restore to that state needs it.

    Raises:
        TransientError: that is not possible.
    """
    writes = [write for write in timeline.writes if write.time >= back_to]
    before = [write.modified_ns for write in timeline.writes if write.time < back_to]
    if is_in_order(writes) and max(before, default=0) <= writes[0].modified_ns:
        return
    of_all = timeline.writes if timeline.is_local else writes
    if not put_in_order(Filesystem(timeline.path), of_all):
        raise TransientError(f"{timeline.table}: its commits cannot be put in order; look at it with doctor check")


def is_there(timeline: Timeline, instant: Instant) -> bool:
    """True when nothing, done or begun, came after the instant."""
    later = [*timeline.pending_plans, *timeline.unfinished, timeline.newest or ""]
    return timeline.holds(instant) and max(later) <= instant and not timeline.pending_restores


def return_consumers(
    registry: ConsumerRegistry,
    spec: LakeSpec,
    record: Record,
    clock: datetime,
    find_timeline: Callable[[str], Timeline],
) -> list[str]:
    """Bring every consumer to a place that its tables have; gives a line for each reader outside that had read more.

    The lake's own remember what they did then. Others stay where they are while their place is still on the timeline,
    else they are set to where they were then, or to the table's newest instant when they were not there yet.
    """
    messages = []
    own = own_consumers(spec)
    then = {name: ConsumerState.from_content(content) for name, content in record.consumers.items()}
    for name in sorted({*registry.all(), *then}):
        if name in own:
            if name in then:
                registry.write(name, then[name], clock)
            else:
                registry.forget(name)
            continue
        state = registry.read(name)
        places = dict(state.checkpoints)
        for table, place in state.checkpoints.items():
            timeline = find_timeline(table)
            needed = needed_from(place)
            if needed != BEGINNING and not timeline.holds(needed):
                known = then[name].checkpoints.get(table) if name in then else None
                places[table] = known or timeline.readable_up_to
                messages.append(f"{name} had read {table} up to {place}; it goes on after {places[table]}")
        if places != state.checkpoints:
            changed = ConsumerState(checkpoints=places, tables=state.tables, notes=state.notes)
            registry.write(name, changed, clock)
    return messages
