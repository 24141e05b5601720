"""The rows of marts, and of tables with names for them, in the serving store: each as of its newest instant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.pipelines.mart_rows import MartRows, StoredRows, TableRows
from spark_jobs.quality.holds import Hold
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.serving.changes import ChangesUncertainError
from spark_jobs.storage.serving.places import ServedPlaces
from spark_jobs.storage.serving.pulls import newest_state, plan_changes
from spark_jobs.storage.serving.states import MartState, Written
from spark_jobs.storage.serving.store import ServingStore
from spark_jobs.storage.serving.tables import ServedMart
from spark_jobs.storage.timeline import Timeline

_CLOCK = "clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What serving a mart or a table did: rows written and deleted, and why all rows of a mart were, if they were."""

    outcome: TableOutcome
    deleted: int = 0
    why_all: str = ""


Served = MartSpec | TableSpec
ReadRows = Callable[[Timeline, Instant], MartRows]


def serve_marts(
    context: AnyContext, marts: Sequence[Served], store: ServingStore, held: Collection[Hold]
) -> list[Serving]:
    """Bring the served rows of each mart, and of each table, to those of its newest instant.

    One whose newest instant is served already is not read; only the clock that it is computed up to may move on. One
    whose newest state was found wrong after its commit (``held`` has an instant of it) is left as it was served last.
    """
    wrong = {hold.table for hold in held if hold.instant}
    return [
        serve_mart(context, mart, store, partial(_rows_of, context, mart)) for mart in marts if mart.name not in wrong
    ]


def _rows_of(context: AnyContext, served: Served, timeline: Timeline, instant: Instant) -> MartRows:
    if isinstance(served, TableSpec):
        return TableRows(context, served, timeline, instant)
    return StoredRows(context, timeline, instant)


def serve_mart(context: AnyContext, mart: Served, store: ServingStore, read: ReadRows) -> Serving:
    """Bring one mart's rows, or a table's, to its newest instant; ``read`` gives its rows as of an instant.

    Of a mart only rows that changed are written, where these are known with certainty; else all of them are. Of a table
    all are: it has names, which seldom change.
    """
    settings = context.settings
    with hold_tables((f"{mart.name}.serving",), job=context.job, settings=settings):
        timeline = _timeline(mart, settings)
        timeline.check_readable()
        newest = newest_state(timeline)
        if newest is None:
            return Serving(outcome=TableOutcome(table=mart.name, instant=None, rows=0, is_committed=False))
        clock = _clock(timeline, settings)
        state = MartState(mart=mart.name, instant=newest, clock=clock, served_at=context.clock)
        served, written, why_all = store.served(mart.name), None, ""
        if served is None or served.instant != newest or not served.is_keyed:
            way = _Way(mart=mart, timeline=timeline, state=state, rows=read(timeline, newest), settings=settings)
            written, why_all = way.go(store, served)
        elif served.clock != clock:
            store.keep(state)
        ServedPlaces(settings).write(mart.name, newest)
        rows, deleted = (written.rows, written.deleted) if written else (0, 0)
        outcome = TableOutcome(table=mart.name, instant=newest, rows=rows, is_committed=written is not None)
        return Serving(outcome=outcome, deleted=deleted, why_all=why_all if written else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """From what the store has of a mart or a table to its newest state."""

    mart: Served
    timeline: Timeline
    state: MartState
    rows: MartRows
    settings: Settings

    def go(self, store: ServingStore, served: ServedMart | None) -> tuple[Written | None, str]:
        """Write what changed, or else everything; gives also why everything, "" where nothing else is due."""
        why_all = ""
        if served is not None and isinstance(self.mart, MartSpec):
            try:
                return self._changes(store, served, is_appended=self.mart.mode.traits.is_appended), ""
            except ChangesUncertainError as error:
                why_all = str(error)
        schema, is_on_timeline = self.rows.schema, self._is_on_timeline
        return store.replace(self.state, schema, self.rows.all(), is_on_timeline=is_on_timeline), why_all

    def _changes(self, store: ServingStore, served: ServedMart, *, is_appended: bool) -> Written | None:
        schema = self.rows.schema
        pull = plan_changes(
            self.timeline, served, schema, self.state.instant, is_appended=is_appended, settings=self.settings
        )
        return store.change(self.state, schema, self.rows.changed(pull), after=pull.after)

    def _is_on_timeline(self, instant: Instant) -> bool:
        return _timeline(self.mart, self.settings).holds(instant)


def _timeline(mart: Served, settings: Settings) -> Timeline:
    return Timeline(table=mart.name, path=settings.table_path(mart.name))


def _clock(timeline: Timeline, settings: Settings) -> datetime | None:
    """The clock the mart was brought to: it moves on without a commit when no row changes."""
    state = ConsumerRegistry(settings.base_path).read(timeline.table)
    noted = state.notes.get(_CLOCK) if state.tables.get(timeline.table) == timeline.last else None
    text = noted or timeline.newest_metadata(METADATA_PREFIX + _CLOCK)
    return parse_clock(text) if text else None
