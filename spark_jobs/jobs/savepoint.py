"""savepoint: the whole lake kept as it is at one moment: to read it later, or to take everything back to it."""

from __future__ import annotations

import logging
import re
from typing import Any

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.savepoint import SavepointOptions
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.kept_rows import check_nothing_kept
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.restores import check_needless, check_no_restore
from spark_jobs.storage.savepoints import SAVEPOINT_JOB, Record, SavepointRecords, record_id

log = logging.getLogger(__name__)

_LABEL = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HEAD = ("savepoint", "made at", "by", "tables", "oldest state", "what")


def needs_spark(context: JobContext[SavepointOptions]) -> bool:
    """The list is made from small files."""
    return context.options.action != "list"


def check(context: JobContext[SavepointOptions]) -> None:
    """Raise ContractError when the options name nothing that can be kept or let go.

    RestoreUnfinishedError when a restore that was cut off still needs it.
    """
    settings = context.settings
    options = context.options
    if options.action == "delete":
        check_needless(SavepointRecords(settings).read(options.name or ""), settings)
        return
    if not _LABEL.fullmatch(options.label):
        raise ContractError(
            f"--label {show(options.label)}: use small letters, digits and _, at most 40, beginning with a letter"
        )


def run(context: JobContext[SavepointOptions]) -> JobResult:
    """Keep, list or let go.

    While it is kept, no cleaning and archiving of any table goes past it: a savepoint costs the storage of every file
    version that was replaced since.
    """
    options, settings = context.options, context.settings
    records = SavepointRecords(settings)
    messages: list[str] = []
    if options.action == "create":
        messages = _create(context, records)
    elif options.action == "delete":
        record = records.read(options.name or "")
        check_needless(record, settings)
        records.release(context.spark, record)
        messages = [f"deleted: {record.id}"]
    kept = records.all()
    print(format_table(_HEAD, [_row(record) for record in kept]) if kept else "no savepoint is kept")
    return context.result(
        DONE if messages else NOTHING_TO_DO,
        counters={"savepoints": len(kept)},
        messages=tuple(messages),
    )


def _create(context: JobContext[SavepointOptions], records: SavepointRecords) -> list[str]:
    spark, spec, settings = context.spark, context.spec, context.settings
    label, keep = context.options.label, context.options.keep
    id_ = record_id(label, context.clock)
    with hold_tables(spec.data_tables, job=context.job, settings=settings):
        check_no_restore(settings, spec.data_tables)  # half of the tables of one state and half of another
        check_nothing_kept(settings)  # some tables have rows that the log does not have
        # A retry of the run that made it finishes it: the states are those it wrote down first.
        record = records.find(id_) or _state_of_now(context, id_, label)
        if not record.tables:
            log.info("nothing to keep: no table of the lake has a commit yet; run ingest first")
            return []
        records.keep(spark, record)
    messages = [f"kept: {record.id}, {len(record.tables)} tables"]
    same = [each for each in records.all() if each.made_by == SAVEPOINT_JOB and each.what == record.what]
    for old in same[: -keep if keep else 0]:
        records.release(spark, old)
        messages.append(f"deleted: {old.id}")
    return messages


def _state_of_now(context: JobContext[SavepointOptions], id_: str, label: str) -> Record:
    """The newest commit of every table, and what the consumers know; all leases are held."""
    spark, spec, settings = context.spark, context.spec, context.settings
    consumers: dict[str, Any] = {
        name: state.to_content() for name, state in ConsumerRegistry(settings.base_path).all().items()
    }
    timelines = settled_timelines(spark, spec.data_tables, settings)
    tables = {timeline.table: timeline.newest for timeline in timelines if timeline.newest}
    return Record(
        id=id_,
        made_by=SAVEPOINT_JOB,
        made_at=format_clock(context.clock),
        what=f"the lake ({label})",
        tables=tables,
        consumers=consumers,
    )


def _row(record: Record) -> tuple[object, ...]:
    return (
        record.id,
        record.made_at,
        record.made_by,
        len(record.tables),
        min(record.tables.values(), default="-"),
        record.what,
    )


JOB = Job(options=SavepointOptions, run=run, check=check, needs_spark=needs_spark)
