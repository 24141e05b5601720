"""restore: the whole lake taken back to a savepoint, with its consumers; a plan first."""

from __future__ import annotations

import logging

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.quarantine import DECIDED_KEY, Decisions, lost_decisions
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.restore import RestoreOptions
from spark_jobs.lake_spec.epoch_steps import lost_epochs
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.erasures import check_no_erasure
from spark_jobs.storage.kept_rows import drop_kept, kept_commits
from spark_jobs.storage.lake_specs import read_source_book
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.restore import TableReturn, later_records, plan_restore, restore_table, return_consumers
from spark_jobs.storage.restores import PendingRestore, Restores, check_no_restore, has_begun
from spark_jobs.storage.savepoints import SAVEPOINT_JOB, Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.undeclared_tables import find_undeclared_tables

_HEAD = ("table", "newest commit", "back to", "what happens")
_AFTER = "what the landing folder got since then is ingested again by the next ingest; its files must still be there"

log = logging.getLogger(__name__)


def needs_spark(context: JobContext[RestoreOptions]) -> bool:
    """A plan is made from timelines."""
    return context.options.yes


def check(context: JobContext[RestoreOptions]) -> None:
    """Raise ContractError when ``--to`` names no savepoint of the whole lake, or something else has to end first."""
    spec, settings = context.spec, context.settings
    _check(spec, SavepointRecords(settings).read(context.options.to, made_by=SAVEPOINT_JOB), settings)


def run(context: JobContext[RestoreOptions]) -> JobResult:
    """Show what would be taken back, and do it when ``--yes`` says so: tables first that are made from others.

    Queries that are running meanwhile may fail, because files they read are removed. A restore that was killed is run
    again.

    Raises:
        RestoreUnfinishedError: another restore was cut off.
        ErasureUnfinishedError: an erasure was cut off; what it is to remove would come back.
    """
    spec, settings = context.spec, context.settings
    records = SavepointRecords(settings)
    record = records.read(context.options.to, made_by=SAVEPOINT_JOB)
    _check(spec, record, settings)
    ways = plan_restore(spec, record, settings)
    print(format_table(_HEAD, [(way.table, way.newest, way.back_to or "-", way.describe()) for way in ways]))
    planned = [f"{way.table}: {way.describe()}" for way in ways if way.commits]
    planned += lost_decisions(_decided_after(spec, record, settings))
    planned += [f"savepoint {each.id}: later state, to be deleted" for each in later_records(records.all(), record)]
    planned += [
        f"{table}: rows that doctor repair took off and keeps are dropped: {', '.join(commits)}"
        for table, commits in kept_commits(settings).items()
        if table in spec.data_tables
    ]
    planned += [f"{name}: stays as it is, no entry declares it" for name in find_undeclared_tables(spec, settings)]
    if not context.options.yes:
        return _result(context, ways, [], [*planned, _AFTER, "nothing was changed; do it with --yes"])
    outcomes, messages = _restore(context, record)
    return _result(context, ways, outcomes, [*planned, *messages, _AFTER])


def _decided_after(spec: LakeSpec, record: Record, settings: Settings) -> Decisions:
    """What was decided about quarantined records after the savepoint: it goes, and nothing does it again."""
    back_to = record.tables.get(spec.quarantine, "")
    timeline = Timeline(table=spec.quarantine, path=settings.table_path(spec.quarantine))
    later = [timeline.metadata(write) for write in timeline.writes if write.time > back_to]
    texts = [metadata.get(METADATA_PREFIX + DECIDED_KEY) for metadata in later]
    return sum(map(Decisions.from_json, texts), start=Decisions())


def _check(spec: LakeSpec, record: Record, settings: Settings) -> None:
    """Raise when something that was cut off has to end first: one restore or erasure at a time.

    An erasure waits for a restore that was cut off, so that one goes on though both were; and so does a repair.
    """
    check_no_restore(settings, spec.data_tables, but=record)
    if not has_begun(settings, spec.data_tables):
        check_no_erasure(settings)


def _restore(context: JobContext[RestoreOptions], record: Record) -> tuple[list[TableOutcome], list[str]]:
    spark, spec, settings = context.spark, context.spec, context.settings
    names = spec.data_tables
    with hold_whole(names, services_of=names, job=context.job, settings=settings):
        _check(spec, record, settings)
        ways = plan_restore(spec, record, settings)  # once more, now that no one else writes
        records, restores = SavepointRecords(settings), Restores(settings)
        restores.begin(PendingRestore(savepoint=record.id, begun=format_clock(context.clock)))
        for later in later_records(records.all(), record):
            records.release(spark, later)
        drop_kept(spec.data_tables, settings)
        outcomes, before = [], read_source_book(spec, settings)
        for at, way in enumerate(ways, start=1):
            outcomes.append(restore_table(spark, way, settings))
            log.info("%d of %d tables: %s: %s", at, len(ways), way.table, way.describe())

        def find_timeline(table: str) -> Timeline:
            return Timeline(table=table, path=settings.table_path(table))

        registry = ConsumerRegistry(settings.base_path)
        messages = return_consumers(registry, spec, record, context.clock, find_timeline)
        restores.finish()
        return outcomes, [*messages, *lost_epochs(before, read_source_book(spec, settings))]


def _result(
    context: JobContext[RestoreOptions], ways: list[TableReturn], outcomes: list[TableOutcome], messages: list[str]
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={
            "commits_planned": sum(way.commits for way in ways),
            "tables_restored": sum(o.is_committed for o in outcomes),
        },
        messages=tuple(messages),
    )


JOB = Job(options=RestoreOptions, run=run, check=check, needs_spark=needs_spark)
