"""A batch of records on their way into the log: decoded, dated, judged by their source and columns, and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame

from spark_jobs.context import AnyContext
from spark_jobs.frames import collect_together
from spark_jobs.lake_spec.schemas import Evolution
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.account import BatchFacts, account_queries, facts_of, measure, newest_event
from spark_jobs.pipelines.columns import column_metadata, column_queries, evolve_columns, quarantine_types
from spark_jobs.pipelines.known_events import known_events
from spark_jobs.pipelines.sources import CheckedSources, came_query, check_sources, decoding_spec, read_sources
from spark_jobs.pipelines.undeclared_columns import UndeclaredColumns, keep_undeclared
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import Verdict
from spark_jobs.sources.discovery import checkpoints
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import set_aside, with_day

FEW_RECORDS = 20_000
"""So many are decoded in about the time that a Spark job takes by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is known of the records before any of them is written.

    ``decoded_df`` has a row for each record, with the columns of ``decoding.decoded_schema`` and ``event_date``; it is
    pinned until the block of :func:`checked_batch` ends.
    """

    decoded_df: DataFrame
    gate: Gate
    facts: BatchFacts
    sources: CheckedSources
    columns: Evolution
    undeclared: UndeclaredColumns

    @property
    def former_ids(self) -> tuple[str, ...]:
        """Origins of which the log may have an event under its former id."""
        return self.sources.book.former_ids

    def known_events(self, context: AnyContext, log_timeline: Timeline) -> DataFrame | None:
        """``event_id`` of its events that the log has already; None when it can have none."""
        return known_events(context.spark, log_timeline, self.decoded_df, self.facts, former=self.former_ids)

    def metadata(self, log_timeline: Timeline) -> dict[str, str]:
        """For the log's commit: checkpoints as they were, and what is known of columns, sources and event times now."""
        return {
            **checkpoints(log_timeline),
            **column_metadata(self.columns),
            **self.undeclared.metadata,
            **self.sources.metadata,
            **newest_event(log_timeline, self.facts.newest),
        }


@dataclass(kw_only=True)
class BatchRun:
    """One run over records, for log and quarantine, whose leases the caller holds.

    ``rows`` counts the records as they are written; the log's commit keeps the counts, and the ``verdicts``.
    """

    context: AnyContext
    log_timeline: Timeline
    quarantine_timeline: Timeline
    rows: dict[str, int] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    _batch: Batch | None = None

    @property
    def batch(self) -> Batch:
        """What was found of the records, once they were looked at."""
        if self._batch is None:
            raise TypeError("nothing was looked at so far; commit first")
        return self._batch

    def let_pass(self, verdicts: Sequence[Verdict]) -> None:
        """Keep the verdicts of the batch; GateStoppedError when one stops it and was not accepted."""
        context, log = self.context, self.context.spec.log
        passed = let_pass({log: verdicts}, job=context.job, clock=context.clock, settings=context.settings)
        self.verdicts.extend(passed[log])


@contextmanager
def checked_batch(
    context: AnyContext,
    log_timeline: Timeline,
    decode: Callable[[LakeSpec], DataFrame],
    *,
    name: str,
    records: int,
    may_stop: bool,
) -> Iterator[Batch]:
    """Decode records by what is known of their sources and columns, and check them; for the block.

    Few are decoded in the job that looks for everything at once. Of more each part would be decoded twice, on two
    executors, or on one: the task of another query waits for it, on a processor that decodes nothing meanwhile. So
    these are decoded for one query, and looked at by the others when all of them are there.

    Args:
        context: of the run.
        log_timeline: of the log, settled.
        decode: gives a row for each record, with the columns of ``decoding.decoded_schema``.
        name: of what is pinned.
        records: about how many there are.
        may_stop: False where positions that fell are left to a person, in the quarantine.

    Raises:
        PositionsFellError: a source may have begun its positions again.
    """
    spec, clock = context.spec, context.clock
    gate, book = Gate.of(spec, spec.log), read_sources(context.spark, log_timeline, clock)
    dated_df = with_day(decode(decoding_spec(spec, book)), clock)
    with pinned(context.spark, set_aside(dated_df, gate.broken_rules(dated_df.schema)), name) as pinned_df:
        # Of few all is looked for at once, and again in what is left where some records were refused.
        are_few, came = records <= FEW_RECORDS, {"came": came_query(pinned_df, clock)}
        rows = collect_together({**came, **(_queries(pinned_df, spec, gate, clock) if are_few else {})})
        sources = check_sources(pinned_df, spec, book, clock, context.settings, may_stop=may_stop, came=rows["came"])
        if not are_few or sources.decoded_df is not pinned_df:
            rows = collect_together(_queries(sources.decoded_df, spec, gate, clock))
        columns = evolve_columns(rows, spec, log_timeline, clock)
        decoded_df = quarantine_types(sources.decoded_df, columns.refusals)
        facts = measure(decoded_df, gate, clock) if columns.refusals else facts_of(rows)
        yield Batch(
            decoded_df=decoded_df,
            gate=gate,
            facts=facts,
            sources=sources,
            columns=columns,
            undeclared=keep_undeclared(decoded_df, spec, log_timeline, events=facts.undeclared, clock=clock),
        )


def _queries(decoded_df: DataFrame, spec: LakeSpec, gate: Gate, clock: datetime) -> dict[str, DataFrame]:
    """What is to be known of the records that go on."""
    return {**column_queries(decoded_df, spec), **account_queries(decoded_df, gate, clock)}
