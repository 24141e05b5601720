"""One batch of delivered records on its way into the lake: decoded, judged, then committed to quarantine and log."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.arguments import JobArguments
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.schemas import Evolution
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.account import check_balance, measure, newest_event
from spark_jobs.pipelines.columns import (
    column_alerts,
    column_messages,
    column_metadata,
    evolve_columns,
    quarantine_types,
)
from spark_jobs.pipelines.known_events import known_events
from spark_jobs.pipelines.sources import CheckedSources, check_sources, decoding_spec, read_sources
from spark_jobs.pipelines.undeclared_columns import Undeclared, keep_undeclared
from spark_jobs.quality.gate import Gate, judge_rows
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Verdict, to_metadata
from spark_jobs.sources.delivery import Delivery
from spark_jobs.sources.discovery import checkpoints
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
    set_aside,
    with_day,
    with_raw,
)


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What one run takes in: the records of ``delivery``, for log and quarantine, whose leases the caller holds.

    Every record that was read is accounted for: it is a row of the log, a row of the quarantine, or one that is there
    already (or none at all). ``rows`` counts them, and the log's commit keeps the counts.
    """

    spark: SparkSession
    spec: LakeSpec
    delivery: Delivery
    log_timeline: Timeline
    quarantine_timeline: Timeline
    arguments: JobArguments
    settings: Settings
    facts: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    columns: list[Evolution] = field(default_factory=list)
    undeclared: list[Undeclared] = field(default_factory=list)
    sources: list[CheckedSources] = field(default_factory=list)

    def commit(self) -> list[TableOutcome]:
        """Commit what is new to the quarantine and the log; gives the log's outcome, then the quarantine's.

        Raises:
            PositionsFellError: a source may have begun its positions again; nothing was written.
            GateStoppedError: an expectation stops the batch; nothing was written.
            UnbalancedError: what was written is not what was read.
            TransientError: another writer was at work.
        """
        gate, run = Gate.of(self.spec, self.spec.log), self.arguments
        book = read_sources(self.spark, self.log_timeline, run.clock)
        dated_df = with_day(self.delivery.decode(self.spark, decoding_spec(self.spec, book)), run.clock)
        dated_df = set_aside(dated_df, gate.broken_rules(dated_df.schema))
        with pinned(self.spark, dated_df, "decoded") as decoded_df:
            # Nothing can be decided in a lake without a log; what fell there waits in the quarantine.
            may_stop = bool(self.log_timeline.last)
            sources = check_sources(decoded_df, self.spec, book, run.clock, self.settings, may_stop=may_stop)
            self.sources.append(sources)
            decoded_df = sources.decoded_df
            columns = evolve_columns(decoded_df, self.spec, self.log_timeline, self.arguments.clock)
            self.columns.append(columns)
            decoded_df = quarantine_types(decoded_df, columns.refusals)
            self.facts.update(measure(decoded_df, gate, self.arguments.clock))
            events, clock = self.facts["undeclared"], self.arguments.clock
            kept = keep_undeclared(decoded_df, self.spec, self.log_timeline, events=events, clock=clock)
            self.undeclared.append(kept)
            self._judge(gate)
            quarantine = self._commit_rejected(decoded_df)
            select = select_log_rows if self.facts["torn"] else select_deliveries
            rows_df = select(decoded_df, self.spec)
            if not (self.log_timeline.last and self.facts["usable"] and self.delivery.may_be_known):
                return [self._commit_log(rows_df, stored=0), quarantine]
            with pinned(
                self.spark,
                known_events(self.spark, self.spec, decoded_df, self.facts, self.settings, former=self._former_ids),
                "known",
            ) as known_df:
                stored = int(known_df.count())
                if stored:
                    rows_df = rows_df.join(known_df, "event_id", "left_anti")
                return [self._commit_log(rows_df, stored=stored), quarantine]

    @property
    def counters(self) -> dict[str, int]:
        """For the job's result."""
        facts, rows = self.facts, self.rows
        return {
            "records_read": rows["read"],
            "events_usable": facts["usable"],
            "records_rejected": facts["rejected"],
            "records_set_aside": facts["set_aside"],
            "events_new": rows["written"],
            "records_quarantined": rows["quarantined"],
            "records_duplicate": rows["duplicates"],
        }

    @property
    def messages(self) -> tuple[str, ...]:
        """For the job's result: what a person should know of the tables that the events are of."""
        others = sorted(self.facts["others"])
        skipped = (f"skipped: events of tables that no table of the lake is made of: {', '.join(others)}",)
        said = (*self.sources[-1].messages, *column_messages(self.columns[-1], self.spec))
        return (*(skipped if others else ()), *said, *self.undeclared[-1].messages(self.spec))

    @property
    def alerts(self) -> tuple[str, ...]:
        """For the job's result: what somebody has to be told of."""
        of_columns = (*column_alerts(self.columns[-1], self.spec), *self.undeclared[-1].alerts(self.spec))
        return (*self.sources[-1].alerts, *of_columns)

    @property
    def _former_ids(self) -> tuple[str, ...]:
        """Origins of which the log may have an event under its former id."""
        return self.sources[-1].book.former_ids

    def _judge(self, gate: Gate) -> None:
        verdicts = list(gate.judge(self.facts))
        if limit := self.spec.quarantine_limit.expectation(self.spec.log):
            # A column or a source that changed is the trouble of one, which is reported by itself; the others go on.
            rejected = self.facts["rejected"] - self.facts["of_the_source"]
            verdicts.append(judge_rows(limit, asked=self.facts["usable"] + rejected, broken=rejected))
        table, run = self.spec.log, self.arguments
        passed = let_pass({table: verdicts}, job=run.job, clock=run.clock, settings=self.settings)
        self.verdicts.extend(passed[table])

    def _commit_rejected(self, decoded_df: DataFrame) -> TableOutcome:
        table, last = self.spec.quarantine, self.quarantine_timeline.last
        self.rows["quarantined"] = self.facts["repeated_contents"] = 0
        if not self.facts["rejected"]:
            return TableOutcome(table=table, instant=last, rows=0, is_committed=False)
        rejected_df = decoded_df.where(is_rejected())
        if self.facts["set_aside"]:
            rejected_df = with_raw(rejected_df, self._lines(rejected_df))
        rejections_df = select_rejections(rejected_df, self.arguments.clock)
        outcome, contents = commit_rejections(
            self.spark, self.spec, rejections_df, self.quarantine_timeline, self.settings
        )
        self.facts["repeated_contents"] = self.facts["rejected"] - contents
        self.rows["quarantined"] = outcome.rows
        return outcome

    def _lines(self, rejected_df: DataFrame) -> DataFrame:
        """The bytes of the records that were set aside, which could be read and so were not kept."""
        wanted: dict[str, set[int]] = defaultdict(set)
        for row in rejected_df.where(is_set_aside()).select("read_from", "read_offset").toLocalIterator():
            wanted[row["read_from"]].add(row["read_offset"])
        places = {path: frozenset(offsets) for path, offsets in wanted.items()}
        return self.delivery.lines(self.spark, places)

    def _count(self, *, stored: int) -> None:
        facts, new = self.facts, self.facts["distinct"] - stored
        duplicates = facts["usable"] - new + facts["repeated_contents"] + facts["ignored"]
        self.rows.update({"read": self.delivery.count_read(facts), "written": new, "duplicates": duplicates})

    def _commit_log(self, rows_df: DataFrame, *, stored: int) -> TableOutcome:
        self._count(stored=stored)
        has_repeats = self.facts["distinct"] < self.facts["usable"]
        rows_df = in_files(rows_df, self.settings, has_repeats=has_repeats)
        check_still(self.log_timeline)
        metadata = {
            **checkpoints(self.log_timeline),
            **self.delivery.checkpoint,
            **column_metadata(self.columns[-1]),
            **self.undeclared[-1].metadata,
            **self.sources[-1].metadata,
            QUALITY_KEY: to_metadata(self.rows, self.verdicts),
            **newest_event(self.log_timeline, self.facts),
        }
        done = commit(rows_df, log_layout(self.spec), metadata=metadata, settings=self.settings)
        check_balance(self.spec.log, {**self.rows, "written": done.rows})
        return TableOutcome(table=self.spec.log, instant=done.instant, rows=done.rows, is_committed=True)


def commit_rejections(
    spark: SparkSession, spec: LakeSpec, rejections_df: DataFrame, timeline: Timeline, settings: Settings
) -> tuple[TableOutcome, int]:
    """Commit to the quarantine what it does not have; the outcome, and how many contents were new by a count of ours.

    Args:
        spark: the session.
        spec: the lake.
        rejections_df: all columns of the quarantine, one row for each content.
        timeline: of the quarantine, whose lease the caller holds.
        settings: where the lake is.
    """
    if timeline.last:
        # Written once more, a record would be open again and have no history.
        known_df = read_snapshot(spark, timeline.path).select("record_hash")
        rejections_df = rejections_df.join(known_df, "record_hash", "left_anti")
    with pinned(spark, rejections_df, "rejections") as new_df:
        contents = int(new_df.count())  # over Spark Connect it is a number of numpy
        if not contents:
            return TableOutcome(table=spec.quarantine, instant=timeline.last, rows=0, is_committed=False), 0
        done = commit(new_df, quarantine_layout(spec), metadata={}, settings=settings)
    return TableOutcome(table=spec.quarantine, instant=done.instant, rows=done.rows, is_committed=True), contents


def in_files(rows_df: DataFrame, settings: Settings, *, has_repeats: bool = False) -> DataFrame:
    """One file for each day and task, rows in event order: later reads skip what they do not need.

    With ``has_repeats`` an event may be there more than once, always of the same day. One of them stays, found among
    rows that lie as they are written: no shuffle and no sort is made for it.
    """
    placed_df = rows_df.repartition(settings.shuffle_partitions, "event_date")
    if has_repeats:
        placed_df = placed_df.dropDuplicates(["event_date", "event_order", "event_id"])
    return placed_df.sortWithinPartitions("event_date", "event_order")
