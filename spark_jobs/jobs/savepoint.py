"""savepoint: the whole lake kept as it is at one moment: to read it later, or to take everything back to it."""

from __future__ import annotations

import argparse
import logging
import re
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.kept_rows import check_nothing_kept
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.restores import check_needless, check_no_restore
from spark_jobs.storage.savepoints import SAVEPOINT_JOB, Record, SavepointRecords, record_id

log = logging.getLogger(__name__)

_LABEL = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HEAD = ("savepoint", "made at", "by", "tables", "oldest state", "what")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["create", "list", "delete"],
        help="create: keep the lake as it is now; list: the savepoints; delete: delete one",
    )
    parser.add_argument("--label", default="manual", help="create: the first part of its name (default: manual)")
    parser.add_argument("--keep", type=int, metavar="N", help="create: delete all but the newest N of this label")
    parser.add_argument("--name", help="delete: which one")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """The list is made from small files."""
    return arguments.options["action"] != "list"


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the options name nothing that can be kept or let go.

    RestoreUnfinishedError when a restore that was cut off still needs it.
    """
    options = arguments.options
    if options["action"] == "delete":
        check_needless(SavepointRecords(settings).read(options.get("name") or ""), settings)
        return
    label, keep = options.get("label") or "manual", options.get("keep")
    if not _LABEL.fullmatch(label):
        raise ContractError(
            f"--label {show(label)}: use small letters, digits and _, at most 40, beginning with a letter"
        )
    if keep is not None and keep < 1:
        raise ContractError(f"--keep {keep}: at least the new one is kept; give 1 or more")


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Keep, list or let go.

    While it is kept, no cleaning and archiving of any table goes past it: a savepoint costs the storage of every file
    version that was replaced since.
    """
    spec, options = read_lake_spec(settings), arguments.options
    records = SavepointRecords(settings)
    said: list[str] = []
    if options["action"] == "create" and spark is not None:
        said = _create(spark, spec, records, arguments, settings)
    elif options["action"] == "delete" and spark is not None:
        record = records.read(options.get("name") or "")
        check_needless(record, settings)
        records.release(spark, record)
        said = [f"deleted: {record.id}"]
    kept = records.all()
    print(format_table(_HEAD, [_row(record) for record in kept]) if kept else "no savepoint is kept")
    return JobResult(
        job=arguments.job,
        status=DONE if said else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"savepoints": len(kept)},
        messages=tuple(said),
    )


def _create(
    spark: SparkSession, spec: LakeSpec, records: SavepointRecords, arguments: JobArguments, settings: Settings
) -> list[str]:
    check(spec, arguments, settings)
    label, keep = arguments.options.get("label") or "manual", arguments.options.get("keep")
    id_ = record_id(label, arguments.clock)
    with hold_tables(spec.data_tables, job=arguments.job, settings=settings):
        check_no_restore(settings, spec.data_tables)  # half of the tables of one state and half of another
        check_nothing_kept(settings)  # some tables have rows that the log does not have
        # A retry of the run that made it finishes it: the states are those it wrote down first.
        record = records.find(id_) or _state_of_now(spark, spec, id_, label, arguments, settings)
        if not record.tables:
            log.info("nothing to keep: no table of the lake has a commit yet; run ingest first")
            return []
        records.keep(spark, record)
    said = [f"kept: {record.id}, {len(record.tables)} tables"]
    same = [each for each in records.all() if each.made_by == SAVEPOINT_JOB and each.what == record.what]
    for old in same[: -keep if keep else 0]:
        records.release(spark, old)
        said.append(f"deleted: {old.id}")
    return said


def _state_of_now(
    spark: SparkSession, spec: LakeSpec, id_: str, label: str, arguments: JobArguments, settings: Settings
) -> Record:
    """The newest commit of every table, and what the consumers know; all leases are held."""
    consumers: dict[str, Any] = {
        name: state.to_content() for name, state in ConsumerRegistry(settings.base_path).all().items()
    }
    timelines = settled_timelines(spark, spec.data_tables, settings)
    tables = {timeline.table: timeline.newest for timeline in timelines if timeline.newest}
    return Record(
        id=id_,
        made_by=SAVEPOINT_JOB,
        made_at=format_clock(arguments.clock),
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
