"""One batch of delivered records on its way into the lake: decoded, judged, then committed to quarantine and log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.account import check_balance
from spark_jobs.pipelines.columns import column_alerts, column_messages
from spark_jobs.pipelines.ingestion.batch import BatchRun, checked_batch
from spark_jobs.pipelines.known_events import without_known
from spark_jobs.quality.gate import judge_rows
from spark_jobs.quality.verdicts import QUALITY_KEY, to_metadata
from spark_jobs.sources.delivery import Delivery
from spark_jobs.storage.layouts import log_layout, quarantine_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import check_still
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.log import (
    is_rejected,
    is_set_aside,
    select_deliveries,
    select_log_rows,
    select_rejections,
    with_raw,
)

MOST_RECORDS = 125_000
"""Of a day in one batch that a task sorts and writes: some 10 MB of the log, in a second or two."""
_IDENTITY, _REST = ("event_date", "event_order", "event_id"), "__rest"
DAY_RECORDS = 20_000
"""So many of a batch, on average, for each of its days: then each day may have a task of its own."""


@dataclass(kw_only=True)
class Intake(BatchRun):
    """One run over the records of ``delivery``.

    Every record that was read is accounted for: it is a row of the log, a row of the quarantine, or one that is there
    already (or none at all).
    """

    delivery: Delivery
    _repeated_contents: int = 0

    def commit(self) -> list[TableOutcome]:
        """Commit what is new to the quarantine and the log; gives the log's outcome, then the quarantine's.

        Raises:
            PositionsFellError: a source may have begun its positions again; nothing was written.
            GateStoppedError: an expectation stops the batch; nothing was written.
            UnbalancedError: what was written is not what was read.
            TransientError: another writer was at work.
        """
        # Nothing can be decided in a lake without a log; what fell there waits in the quarantine.
        may_stop = bool(self.log_timeline.last)
        records = self.delivery.most_records
        with checked_batch(
            self.context, self.log_timeline, self._decode, name="decoded", records=records, may_stop=may_stop
        ) as batch:
            self._batch = batch
            self._judge()
            quarantine = self._commit_rejected()
            select = select_log_rows if batch.facts.torn else select_deliveries
            rows_df = select(batch.decoded_df, self.context.spec)
            may_be_known = self.log_timeline.last and batch.facts.usable and self.delivery.may_be_known
            stored_df = batch.known_events(self.context, self.log_timeline) if may_be_known else None
            if stored_df is None:
                return [self._commit_log(rows_df, stored=0), quarantine]
            with pinned(self.context.spark, stored_df, "known") as known_df:
                rows_df, stored = without_known(rows_df, known_df)
                return [self._commit_log(rows_df, stored=stored), quarantine]

    @property
    def counters(self) -> dict[str, int]:
        """For the job's result."""
        facts, rows = self.batch.facts, self.rows
        return {
            "records_read": rows["read"],
            "events_usable": facts.usable,
            "records_rejected": facts.rejected,
            "records_set_aside": facts.set_aside,
            "events_new": rows["written"],
            "records_quarantined": rows["quarantined"],
            "records_duplicate": rows["duplicates"],
        }

    @property
    def messages(self) -> tuple[str, ...]:
        """For the job's result: what a person should know of the tables that the events are of."""
        batch, others = self.batch, sorted(self.batch.facts.others)
        skipped = (f"skipped: events of tables that no table of the lake is made of: {', '.join(others)}",)
        lines = (*batch.sources.messages, *column_messages(batch.columns, self.context.spec))
        return (*(skipped if others else ()), *lines, *batch.undeclared.messages(self.context.spec))

    @property
    def alerts(self) -> tuple[str, ...]:
        """For the job's result: what an operator has to be alerted to."""
        batch, spec = self.batch, self.context.spec
        return (*batch.sources.alerts, *column_alerts(batch.columns, spec), *batch.undeclared.alerts(spec))

    def _decode(self, spec: LakeSpec) -> DataFrame:
        return self.delivery.decode(self.context.spark, spec)

    def _judge(self) -> None:
        facts, spec = self.batch.facts, self.context.spec
        verdicts = list(self.batch.gate.judge(facts.checked))
        if limit := spec.quarantine_limit.expectation(spec.log):
            # A column or a source that changed is the trouble of one, which is reported by itself; the others go on.
            rejected = facts.rejected - facts.of_the_source
            verdicts.append(judge_rows(limit, checked=facts.usable + rejected, broken=rejected))
        self.let_pass(verdicts)

    def _commit_rejected(self) -> TableOutcome:
        facts, table = self.batch.facts, self.context.spec.quarantine
        self.rows["quarantined"] = 0
        if not facts.rejected:
            return TableOutcome(table=table, instant=self.quarantine_timeline.last, rows=0, is_committed=False)
        rejected_df = self.batch.decoded_df.where(is_rejected())
        if facts.set_aside:
            rejected_df = with_raw(rejected_df, self._lines(rejected_df))
        rejections_df = select_rejections(rejected_df, self.context.clock)
        outcome, contents = commit_rejections(self.context, rejections_df, self.quarantine_timeline)
        self._repeated_contents = facts.rejected - contents
        self.rows["quarantined"] = outcome.rows
        return outcome

    def _lines(self, rejected_df: DataFrame) -> DataFrame:
        """The bytes of the records that were set aside, which could be read and so were not kept."""
        wanted: dict[str, set[int]] = defaultdict(set)
        for row in rejected_df.where(is_set_aside()).select("read_from", "read_offset").toLocalIterator():
            wanted[row["read_from"]].add(row["read_offset"])
        places = {path: frozenset(offsets) for path, offsets in wanted.items()}
        return self.delivery.lines(self.context.spark, places)

    def _count(self, *, stored: int) -> None:
        facts = self.batch.facts
        new = facts.distinct - stored
        self.rows["read"] = self.delivery.count_read(facts.messages)
        self.rows["written"] = new
        self.rows["duplicates"] = facts.usable - new + self._repeated_contents + facts.ignored

    def _commit_log(self, rows_df: DataFrame, *, stored: int) -> TableOutcome:
        self._count(stored=stored)
        batch, spec, settings = self.batch, self.context.spec, self.context.settings
        has_repeats = batch.facts.distinct < batch.facts.usable
        rows_df = in_files(rows_df, settings, day_records=batch.facts.day_records, has_repeats=has_repeats)
        check_still(self.log_timeline)
        quality = {QUALITY_KEY: to_metadata(self.rows, self.verdicts)}
        metadata = {**batch.metadata(self.log_timeline), **self.delivery.checkpoint, **quality}
        done = commit(rows_df, log_layout(spec), metadata=metadata, settings=settings)
        check_balance(spec.log, {**self.rows, "written": done.rows})
        return TableOutcome(table=spec.log, instant=done.instant, rows=done.rows, is_committed=True)


def commit_rejections(context: AnyContext, rejections_df: DataFrame, timeline: Timeline) -> tuple[TableOutcome, int]:
    """Commit to the quarantine what it does not have; the outcome, and how many contents were new by a count of ours.

    Args:
        context: of the run.
        rejections_df: all columns of the quarantine, one row for each content.
        timeline: of the quarantine, whose lease the caller holds.
    """
    spark, table = context.spark, context.spec.quarantine
    if timeline.last:
        # Written once more, a record would be open again and have no history.
        known_df = read_snapshot(spark, timeline.path).select("record_hash")
        # Sorted on both sides: the other join would gather every hash of the quarantine here, in a job of its own.
        rejections_df = rejections_df.join(known_df.hint("merge"), "record_hash", "left_anti")
    with pinned(spark, rejections_df, "rejections") as new_df:
        contents = int(new_df.count())  # over Spark Connect it is a number of numpy
        if not contents:
            return TableOutcome(table=table, instant=timeline.last, rows=0, is_committed=False), 0
        metadata = RowCounts(added=contents).to_metadata()
        done = commit(new_df, quarantine_layout(context.spec), metadata=metadata, settings=context.settings)
    return TableOutcome(table=table, instant=done.instant, rows=done.rows, is_committed=True), contents


def in_files(
    rows_df: DataFrame, settings: Settings, *, day_records: Mapping[str, int] | None = None, has_repeats: bool = False
) -> DataFrame:
    """One file for each day and task, rows in event order: later reads skip what they do not need.

    A day is of one task, unless ``day_records`` says that it has more than ``MOST_RECORDS``: then all days are cut by
    event order into parts of about so many, for as many tasks. Large batches of many days have more tasks than small
    ones, so that no processor is left without. With ``has_repeats`` an event may be there more than
    once, always of the same day. One of them stays, found among rows that are placed as they are written: no shuffle
    and no sort is made for it.
    """
    counts = (day_records or {}).values()
    if any(count > MOST_RECORDS for count in counts):
        parts = ceil(sum(counts) / MOST_RECORDS)
        placed_df = rows_df.repartitionByRange(parts, "event_date", "event_order")
    else:
        parts = max(settings.shuffle_partitions, min(len(counts), sum(counts) // DAY_RECORDS))
        placed_df = rows_df.repartition(parts, "event_date")
    if has_repeats:
        placed_df = _without_repeats(placed_df)
    return placed_df.sortWithinPartitions("event_date", "event_order")


def _without_repeats(placed_df: DataFrame) -> DataFrame:
    """The rows in the same columns, one for each event.

    What is not its identity is kept as one value: to keep the first of each column by itself takes a third as long as
    to write the row.
    """
    rest = [name for name in placed_df.columns if name not in _IDENTITY]
    packed_df = placed_df.select(*_IDENTITY, F.struct(*rest).alias(_REST)) if rest else placed_df
    columns = [name if name in _IDENTITY else F.col(_REST)[name].alias(name) for name in placed_df.columns]
    return packed_df.dropDuplicates([*_IDENTITY]).select(*columns)
