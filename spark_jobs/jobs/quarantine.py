"""quarantine: records that could not be used; putting them through again, repaired or not, and discarding them.

``replay`` is the way of ``ingest`` from the bytes on: the same decoder, the same expectations, the same question
whether the log has the event. Nothing is ever removed from the table by this command.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.decisions import check_decision, decided_by
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.quarantine import Attempt, Decisions, Selection, State, check_reason, check_state
from spark_jobs.contracts.rejections import Reason
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.job_options.quarantine import QuarantineOptions
from spark_jobs.pipelines.ingestion.replay import Replay, commit_marks
from spark_jobs.pipelines.quarantine_pages import print_kinds, print_record
from spark_jobs.sources.records import MAX_RECORD_BYTES
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished
from spark_jobs.transforms.quarantine import STATE, is_in_state, is_selected, with_attempt, with_states

_NO_EVENT = (
    "rows of files that were loaded are no events: correct the file, load it again, and discard its records here"
)


def check(context: JobContext[QuarantineOptions]) -> None:
    """Raise ContractError when the options are incomplete or make no sense together."""
    options = context.options
    action = options.action
    if action == "list":
        if options.reason:
            check_reason(options.reason)
        if options.state:
            check_state(options.state)
        return
    _selection(options)
    if action == "show":
        return
    if action == "replay" and options.reason == Reason.BROKEN_ROW:
        raise ContractError(_NO_EVENT)
    check_decision(
        options.because, options.by, missing=f"{action} needs --because: it is kept in the history of each record"
    )
    if options.repaired is not None:
        if action != "replay" or not options.record:
            raise ContractError("--repaired goes with replay --record: a repaired file is one record's")
        read_repaired(options.repaired)


def _selection(options: QuarantineOptions) -> Selection:
    return Selection.of(record=options.record, reason=options.reason, rule=options.rule, is_all=options.all)


def read_repaired(path: str) -> bytes:
    """The one record in a file, without its line end; ContractError when there is none, or more than one."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_RECORD_BYTES + 3)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is no path"
        raise ContractError(f"--repaired {show(path)}: {reason}; give a file with one record") from error
    record = content.removesuffix(b"\n").removesuffix(b"\r")
    if not record.strip() or b"\n" in record:
        raise ContractError(f"--repaired {show(path)} must hold one record on one line")
    if len(record) > MAX_RECORD_BYTES:
        raise ContractError(f"--repaired {show(path)} has more than the {MAX_RECORD_BYTES:,} bytes of a record")
    return record


def run(context: JobContext[QuarantineOptions]) -> JobResult:
    """Show records, or do something with them.

    Raises:
        ContractError: no record or several have the hash that was given, or the record cannot be replayed or discarded.
        GateStoppedError: expectations stop what a replay would write; nothing was written.
    """
    spark, settings = context.spark, context.settings
    spec = context.spec
    action = context.options.action
    if action in ("list", "show"):
        return _look(context)
    tables = (spec.log, spec.quarantine) if action == "replay" else (spec.quarantine,)
    with hold_tables(tables, job=context.job, settings=settings):
        check_nothing_unfinished(settings, tables)
        timeline = settled_timeline(spark, spec.quarantine, settings)
        with _chosen(spark, timeline, _selection(context.options)) as chosen_df:
            if chosen_df is None:
                return _result(context, (), {"records": 0}, ("no open record is meant; nothing was changed",))
            change = _replay if action == "replay" else _discard
            return change(context, chosen_df, timeline)


def _look(context: JobContext[QuarantineOptions]) -> JobResult:
    spark, spec, settings = context.spark, context.spec, context.settings
    options = context.options
    timeline = Timeline(table=spec.quarantine, path=settings.table_path(spec.quarantine))
    timeline.check_readable()
    if options.action == "show":
        with _chosen(spark, timeline, _selection(options)) as chosen_df:
            row = chosen_df.first() if chosen_df is not None else None
        if row is not None:
            print_record(row, has_raw=options.raw)
        return _result(context, (), {"records": int(row is not None)}, ())
    if timeline.last is None:
        print("nothing was ever quarantined")
        return _result(context, (), {"records": 0}, ())
    rows_df = with_states(read_snapshot(spark, timeline.path))
    if options.reason:
        rows_df = rows_df.where(F.col("reason") == options.reason)
    if options.state:
        rows_df = rows_df.where(is_in_state(State(options.state)))
    return _result(context, (), {"records": print_kinds(rows_df)}, ())


@contextmanager
def _chosen(spark: SparkSession, timeline: Timeline, selection: Selection) -> Iterator[DataFrame | None]:
    """The rows that are meant, pinned; None when there are none, and ContractError when not just one was named."""
    if timeline.last is None:
        if selection.record:
            raise ContractError("nothing was ever quarantined; there is no record of any hash")
        yield None
        return
    rows_df = with_states(read_snapshot(spark, timeline.path)).where(is_selected(selection))
    with pinned(spark, rows_df, "chosen") as chosen_df:
        count = int(chosen_df.count())
        if selection.record and count != 1:
            found = f"{count} records have hashes" if count else "no record has a hash"
            more = "give more of it" if count else "quarantine list shows what there is"
            raise ContractError(f"{found} that begin with {show(selection.record)}; {more}")
        yield chosen_df if count else None


def _is_replayed(row: Row | None) -> bool:
    return row is not None and row[STATE] == State.REPLAYED


def _replay(
    context: JobContext[QuarantineOptions],
    chosen_df: DataFrame,
    timeline: Timeline,
) -> JobResult:
    spark, spec, settings = context.spark, context.spec, context.settings
    options = context.options
    if options.record and not chosen_df.where(F.col("reason") == Reason.BROKEN_ROW.value).isEmpty():
        raise ContractError(_NO_EVENT)
    if options.record and _is_replayed(row := chosen_df.select(STATE, "became").first()):
        message = f"the record is an event of {spec.log} already: {row['became'] if row else ''}"
        return _result(context, (), {"records": 0}, (message,))
    replay = Replay(
        context=context,
        log_timeline=settled_timeline(spark, spec.log, settings),
        quarantine_timeline=timeline,
        attempt=_attempt(context, outcome=""),
        repaired=None if options.repaired is None else read_repaired(options.repaired),
    )
    outcomes = replay.commit(chosen_df)
    rows = replay.rows
    counters = {
        "records": rows["read"],
        "events_new": rows["written"],
        "records_duplicate": rows["duplicates"],
        "records_unusable": rows["quarantined"],
    }
    left = left_behind(read=rows["read"], unusable=rows["quarantined"])
    return _result(context, tuple(outcomes), counters, (*replay.messages, *left), alerts=left)


def left_behind(*, read: int, unusable: int) -> tuple[str, ...]:
    """The message about records that could not be used this time either; () when all of them passed."""
    if not unusable:
        return ()
    many = f"none of the {read:,} records passed, so they" if unusable >= read else f"{unusable:,} of {read:,} records"
    return (f"{many} stay in the quarantine; quarantine list and show say why",)


def _discard(
    context: JobContext[QuarantineOptions],
    chosen_df: DataFrame,
    timeline: Timeline,
) -> JobResult:
    spec, settings = context.spec, context.settings
    states = [row[STATE] for row in chosen_df.select(STATE).limit(1).collect()]
    if State.REPLAYED in states:
        raise ContractError(f"the record is an event of {spec.log}; what is wrong with that is corrected at its source")
    if State.DISCARDED in states:
        return _result(context, (), {"records": 0}, ("the record is discarded already",))
    marked_df = with_attempt(chosen_df, _attempt(context, outcome="discarded"))
    marked_df = marked_df.withColumn(STATE, F.lit(State.DISCARDED.value))
    count = int(chosen_df.count())
    outcome = commit_marks(marked_df, spec, timeline, count, settings, decided=Decisions(discarded=count))
    return _result(context, (outcome,), {"records": count}, ())


def _attempt(context: JobContext[QuarantineOptions], *, outcome: str) -> Attempt:
    options = context.options
    return Attempt(
        at=format_clock(context.clock),
        by=decided_by(options.by),
        action="replay, repaired" if options.repaired else options.action,
        because=options.because or "",
        outcome=outcome,
    )


def _result(
    context: JobContext[QuarantineOptions],
    tables: tuple[TableOutcome, ...],
    counters: dict[str, int],
    messages: tuple[str, ...],
    alerts: tuple[str, ...] = (),
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in tables) else NOTHING_TO_DO,
        tables=tables,
        counters=counters,
        messages=messages,
        alerts=alerts,
    )


JOB = Job(options=QuarantineOptions, run=run, check=check)
