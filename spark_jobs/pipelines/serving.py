"""The rows of marts in the serving store, each as of its newest instant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.quality.holds import Hold
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.reader import read_as_of
from spark_jobs.storage.serving.store import MartState, ServingStore
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import visible_rows

_CLOCK = "clock"


def serve_marts(
    context: AnyContext, marts: Sequence[MartSpec], store: ServingStore, held: Collection[Hold]
) -> list[TableOutcome]:
    """Replace the served rows of each mart by those of its newest instant.

    A mart whose newest instant is served already is not read; only the clock that it is computed up to may move on. One
    whose newest state was found wrong after its commit (``held`` has an instant of it) is left as it was served last.
    """
    wrong = {hold.table for hold in held if hold.instant}
    return [_serve(context, mart, store) for mart in marts if mart.name not in wrong]


def _serve(context: AnyContext, mart: MartSpec, store: ServingStore) -> TableOutcome:
    settings = context.settings
    with hold_tables((f"{mart.name}.serving",), job=context.job, settings=settings):
        timeline = _timeline(mart, settings)
        timeline.check_readable()
        if timeline.last is None:
            return TableOutcome(table=mart.name, instant=None, rows=0, is_committed=False)
        clock = _clock(timeline, settings)
        state = MartState(mart=mart.name, instant=timeline.last, clock=clock, served_at=context.clock)
        served, count = store.served(mart.name), None
        if served is None or served.instant != state.instant:
            rows_df = visible_rows(read_as_of(context.spark, timeline.path, state.instant), mart.name, context.spec)
            count = store.replace(
                state,
                rows_df.schema,
                rows_df.toLocalIterator(),
                is_on_timeline=lambda instant: _timeline(mart, settings).holds(instant),
            )
        elif served.clock != clock:
            store.keep(state)
        return TableOutcome(table=mart.name, instant=state.instant, rows=count or 0, is_committed=count is not None)


def _timeline(mart: MartSpec, settings: Settings) -> Timeline:
    return Timeline(table=mart.name, path=settings.table_path(mart.name))


def _clock(timeline: Timeline, settings: Settings) -> datetime | None:
    """The clock the mart was brought to: it moves on without a commit when no row changes."""
    state = ConsumerRegistry(settings.base_path).read(timeline.table)
    noted = state.notes.get(_CLOCK) if state.tables.get(timeline.table) == timeline.last else None
    text = noted or timeline.newest_metadata(METADATA_PREFIX + _CLOCK)
    return parse_clock(text) if text else None
