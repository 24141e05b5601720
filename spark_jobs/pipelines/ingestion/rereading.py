"""Records that were read before on their way into the log once more: what it lacks is added, what it has stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.account import check_balance
from spark_jobs.pipelines.ingestion.intake import Intake
from spark_jobs.pipelines.known_events import with_former_ids
from spark_jobs.pipelines.sources import check_sources, decoding_spec, read_sources
from spark_jobs.pipelines.undeclared_columns import keep_undeclared
from spark_jobs.quality.gate import Gate
from spark_jobs.sources.again import OnceMore
from spark_jobs.sources.discovery import checkpoints
from spark_jobs.storage.erasures import Erasures
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import check_still
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.log import is_usable, select_log_rows, set_aside, with_day
from spark_jobs.transforms.supplement import richer_rows


@dataclass(kw_only=True)
class Rereading(Intake):
    """As an intake; when the log has every event there is no commit."""

    def _commit_log(self, rows_df: DataFrame, *, stored: int) -> TableOutcome:
        if self.batch.facts.distinct > stored:
            return super()._commit_log(rows_df, stored=stored)
        self._count(stored=stored)
        check_balance(self.context.spec.log, self.rows)
        return TableOutcome(table=self.context.spec.log, instant=self.log_timeline.last, rows=0, is_committed=False)


def may_supplement(settings: Settings) -> bool:
    """False in a lake from which people were erased: what their events lack is what was erased."""
    return not Erasures(settings).has_any()


def supplement(context: AnyContext, delivery: OnceMore, log_timeline: Timeline) -> TableOutcome:
    """Add to events of the log what they lack and these records have: declared columns, and what is beside them.

    The caller holds the lease of the log, whose settled timeline is given. The events are read by ``split`` once more,
    which fills the tables. They are known by the identity that they had when they were read first, in an earlier
    release too.
    """
    spark, spec, settings = context.spark, context.spec, context.settings
    nothing = TableOutcome(table=spec.log, instant=log_timeline.last, rows=0, is_committed=False)
    if not log_timeline.last or not spec.source.columns:
        return nothing
    gate, clock = Gate.of(spec, spec.log), context.clock
    book = read_sources(spark, log_timeline, clock)
    dated_df = with_day(delivery.decode(spark, decoding_spec(spec, book)), clock)
    with pinned(spark, set_aside(dated_df, gate.broken_rules(dated_df.schema)), "read_again") as pinned_df:
        sources = check_sources(pinned_df, spec, book, clock, settings, may_stop=False)
        decoded_df = with_former_ids(sources.decoded_df, sources.book.former_ids)
        found = _bounds(decoded_df)
        if not found["dates"]:
            return nothing
        stored_df = read_stored(spark, log_timeline.path).where(
            F.col("event_date").isin(found["dates"]) & F.col("event_order").between(found["first"], found["last"])
        )
        names = [column.name for column in spec.source.columns]
        richer_df = richer_rows(stored_df, select_log_rows(decoded_df, spec), names)
        with pinned(spark, richer_df, "richer") as rows_df:
            if not int(rows_df.count()):
                return nothing
            check_still(log_timeline)
            kept = keep_undeclared(
                rows_df.withColumn("reason", F.lit(None).cast("string")),
                spec,
                log_timeline,
                events=1,
                clock=clock,
            )
            metadata = {**checkpoints(log_timeline), **kept.metadata}
            operation = Operation.UPSERT
            done = commit(rows_df, log_layout(spec), metadata=metadata, settings=settings, operation=operation)
    return TableOutcome(table=spec.log, instant=done.instant, rows=done.rows, is_committed=True)


def _bounds(decoded_df: DataFrame) -> Mapping[str, Any]:
    """The first and the last event that were read, and the days of all of them."""
    row = (
        decoded_df.where(is_usable())
        .agg(
            F.min("event_order").alias("first"),
            F.max("event_order").alias("last"),
            F.collect_set("event_date").alias("dates"),
        )
        .first()
    )
    return row.asDict() if row else {"dates": []}
