"""Quarantined records on their way into the log once more: decoded, judged, committed to log, then marked.

The log comes first: a record is marked only when the log holds its event. A run that dies in between leaves the record
open; the next one finds the event in the log and marks the record, and writes nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.quarantine import DECIDED_KEY, Attempt, Decisions, State
from spark_jobs.contracts.rejections import IGNORED, Reason
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.account import check_balance
from spark_jobs.pipelines.columns import column_messages
from spark_jobs.pipelines.ingestion.batch import BatchRun, checked_batch
from spark_jobs.pipelines.ingestion.intake import in_files
from spark_jobs.pipelines.known_events import without_known
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import QUALITY_KEY, Outcome, describe_verdicts, to_metadata
from spark_jobs.sources.decoding import decode_records
from spark_jobs.sources.layout_batch import RECORD
from spark_jobs.storage.layouts import log_layout, quarantine_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.recovery import check_still
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.log import select_log_rows
from spark_jobs.transforms.quarantine import BECAME, QUARANTINE_COLUMNS, STATE, with_attempt

_OF_FILES = (Reason.TRUNCATED.value, Reason.BAD_FILE.value, Reason.TOO_LARGE.value)
"""Reasons that say what happened to a file, or that the bytes are not kept; no decoder can find them again."""
_EVENT, _WHY, _DETAIL = "__event", "__why", "__detail"


@dataclass(kw_only=True)
class Replay(BatchRun):
    """One run over chosen records of the quarantine.

    ``repaired`` has the bytes to decode in place of those of the one record that was chosen; they are not kept.
    """

    attempt: Attempt
    repaired: bytes | None

    def commit(self, chosen_df: DataFrame) -> list[TableOutcome]:
        """Put the records through; gives the log's outcome, then the quarantine's.

        Args:
            chosen_df: rows of the quarantine, all its columns, pinned.

        Raises:
            GateStoppedError: an expectation stops the batch; nothing was written.
            UnbalancedError: what was written is not what was read.
            TransientError: another writer was at work.
        """
        self.rows["read"] = int(chosen_df.count())
        records_df = chosen_df if self.repaired is None else chosen_df.withColumn("raw", F.lit(self.repaired))
        # The table has one bucket, so that everything would be decoded by one task.
        records_df = records_df.repartition(self.context.settings.shuffle_partitions, "record_hash")

        def decode(spec: LakeSpec) -> DataFrame:
            return decode_records(spec, records_df).drop("raw")

        # What fell stays where it is: in the quarantine.
        read = self.rows["read"]
        with checked_batch(
            self.context, self.log_timeline, decode, name="replayed", records=read, may_stop=False
        ) as batch:
            self._batch = batch
            if batch.facts.usable:
                self.let_pass(batch.gate.judge(batch.facts.checked))
            logged = self._commit_log()
            return [logged, self._mark(chosen_df, batch.decoded_df)]

    @property
    def messages(self) -> tuple[str, ...]:
        """For the job's result: what a person should know of columns and expectations."""
        batch, spec = self.batch, self.context.spec
        lines = (*batch.sources.messages, *column_messages(batch.columns, spec))
        return (*lines, *batch.undeclared.alerts(spec), *describe_verdicts(spec.log, self.verdicts))

    def _commit_log(self) -> TableOutcome:
        facts = self.batch.facts
        rows_df = select_log_rows(self.batch.decoded_df, self.context.spec)
        self.rows["quarantined"] = facts.rejected + facts.ignored
        may_be_known = self.log_timeline.last and facts.usable
        stored_df = self.batch.known_events(self.context, self.log_timeline) if may_be_known else None
        if stored_df is None:
            return self._write_log(rows_df, stored=0)
        with pinned(self.context.spark, stored_df, "known") as known_df:
            rows_df, stored = without_known(rows_df, known_df)
            return self._write_log(rows_df, stored=stored)

    def _write_log(self, rows_df: DataFrame, *, stored: int) -> TableOutcome:
        facts, spec, settings = self.batch.facts, self.context.spec, self.context.settings
        self.rows["written"] = facts.distinct - stored
        self.rows["duplicates"] = facts.usable - facts.distinct + stored
        check_balance(spec.log, self.rows)
        if not self.rows["written"]:
            return TableOutcome(table=spec.log, instant=self.log_timeline.last, rows=0, is_committed=False)
        quality = {QUALITY_KEY: to_metadata(self.rows, self.verdicts)}
        metadata = {**self.batch.metadata(self.log_timeline), **quality}
        check_still(self.log_timeline)
        done = commit(in_files(rows_df, settings), log_layout(spec), metadata=metadata, settings=settings)
        check_balance(spec.log, {**self.rows, "written": done.rows})
        self._end_hold()
        return TableOutcome(table=spec.log, instant=done.instant, rows=done.rows, is_committed=True)

    def _end_hold(self) -> None:
        """What was accepted for this batch is used up; a hold of another job's batch stays."""
        holds = Holds(self.context.settings)
        hold = holds.hold_of(self.context.spec.log)
        is_own = hold is not None and hold.job == self.context.job
        if is_own or any(each.outcome is Outcome.ACCEPTED for each in self.verdicts):
            holds.release({self.context.spec.log})

    def _mark(self, chosen_df: DataFrame, decoded_df: DataFrame) -> TableOutcome:
        found_df = decoded_df.select(
            F.col(RECORD).alias("record_hash"),
            F.col("event_id").alias(_EVENT),
            F.col("reason").alias(_WHY),
            F.col("detail").alias(_DETAIL),
        )
        marked_df = with_outcome(
            chosen_df.join(found_df, "record_hash"), self.attempt, has_own_bytes=self.repaired is None
        )
        read, replayed = self.rows["read"], max(self.rows["read"] - self.rows["quarantined"], 0)
        decided = Decisions(replayed=replayed, repaired=min(replayed, int(self.repaired is not None)))
        return commit_marks(
            marked_df, self.context.spec, self.quarantine_timeline, read, self.context.settings, decided=decided
        )


def with_outcome(found_df: DataFrame, attempt: Attempt, *, has_own_bytes: bool) -> DataFrame:
    """Rows of the quarantine after an attempt, from rows with the event, reason and detail that decoding gave.

    A record that is none still keeps its state. Its reason is the new one where its own bytes were decoded.
    """
    is_event = F.col(_WHY).isNull()
    outcome = F.when(is_event, F.lit("its event is in the log")).otherwise(_why_unusable())
    is_reported_again = ~is_event & F.lit(has_own_bytes) & (F.col(_WHY) != IGNORED) & ~F.col("reason").isin(*_OF_FILES)
    columns = {
        "reason": F.when(is_reported_again, F.col(_WHY)).otherwise(F.col("reason")),
        "detail": F.when(is_reported_again, F.col(_DETAIL)).otherwise(F.col("detail")),
        STATE: F.when(is_event, F.lit(State.REPLAYED.value)).otherwise(F.col(STATE)),
        BECAME: F.when(is_event, F.col(_EVENT)).otherwise(F.col(BECAME)),
    }
    return with_attempt(found_df, attempt, outcome).withColumns(columns).select(*QUARANTINE_COLUMNS)


def _why_unusable() -> Column:
    """Why it is no event; of the details only names of rules, because others may quote the record."""
    is_rule = F.col(_WHY) == Reason.BROKEN_RULE.value
    rules = F.concat(F.col(_WHY), F.lit(": "), F.col(_DETAIL))
    no_record = F.when(F.col(_WHY) == IGNORED, F.lit("no record")).otherwise(F.col(_WHY))
    return F.concat(F.lit("cannot be used: "), F.when(is_rule, rules).otherwise(no_record))


def commit_marks(
    rows_df: DataFrame, spec: LakeSpec, timeline: Timeline, wanted: int, settings: Settings, *, decided: Decisions
) -> TableOutcome:
    """Commit rows of the quarantine that are there already; UnbalancedError unless they are as many as ``wanted``.

    What was ``decided`` about them is in the commit, so that a restore knows what it takes back.
    """
    check_still(timeline)
    metadata = {DECIDED_KEY: decided.to_json(), **RowCounts(changed=wanted).to_metadata()}
    done = commit(rows_df, quarantine_layout(spec), metadata=metadata, settings=settings)
    check_balance(spec.quarantine, {"read": wanted, "marked": done.rows})
    return TableOutcome(table=spec.quarantine, instant=done.instant, rows=done.rows, is_committed=True)
