"""ingest: landing files and Kafka's topics to the event log, exactly once; what cannot be used goes to quarantine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.again import Again
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.kafka import Start
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, TO_CHECK, JobResult, TableOutcome
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.ingest import IngestOptions
from spark_jobs.pipelines.ingestion.rereading import Rereading, may_supplement, supplement
from spark_jobs.pipelines.ingestion.run import ingest_delivery, ingest_new
from spark_jobs.pipelines.validation import count_to_check
from spark_jobs.sources.again import HEADER, plan_again
from spark_jobs.sources.kafka import client_properties
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_intake


def needs_spark(context: JobContext[IngestOptions]) -> bool:
    """What is to be read again is shown without it."""
    return not context.options.again or context.options.yes


def check(context: JobContext[IngestOptions]) -> None:
    """Raise ContractError or SettingsError when Kafka's settings, or the options of a second read, are wrong."""
    settings = context.settings
    if context.options.yes and not context.options.again:
        raise ContractError("--yes carries out what --again plans; an ingest of what is new needs none, leave it out")
    if context.options.again:
        Again.parse(context.options.again)
        if context.options.accept_loss:
            raise ContractError("--again reads what is there, so nothing can be lost; leave --accept-loss out")
    if settings.kafka_servers:
        client_properties(settings)
        Start.parse(settings.kafka_start)
    elif context.options.accept_loss:
        raise ContractError("--accept-loss is for topics of Kafka, and LAKEHOUSE_KAFKA_SERVERS names none")


def run(context: JobContext[IngestOptions]) -> JobResult:
    """Take what is new in the landing path, and in Kafka's topics where the settings name servers.

    At most ``max_events`` records are taken, of each topic's partitions alike.

    What was read is recorded in the log's commit that holds the rows. The quarantine is written first, by content: a
    run that dies in between repeats it without effect.
    """
    settings = context.settings
    spec = context.spec
    if context.options.again:
        return _again(context)
    with hold_tables((spec.log, spec.quarantine), job=context.job, settings=settings):
        check_intake(settings)
        taken = ingest_new(
            context, max_records=context.options.max_events, accepted=names_of(context.options.accept_loss)
        )
    counters = {**taken.counters, TO_CHECK: count_to_check(context, taken.outcomes)}
    return _result(context, taken.outcomes, counters, taken.messages, taken.alerts)


def _again(context: JobContext[IngestOptions]) -> JobResult:
    """Show what would be read once more, and read it when ``--yes`` says so. No checkpoint moves."""
    spec, settings = context.spec, context.settings
    again, names = Again.parse(context.options.again), (spec.log, spec.quarantine)
    plan = plan_again(spec, again, Timeline(table=spec.log, path=settings.table_path(spec.log)), settings)
    print(format_table(HEADER, plan.rows()))
    if not context.options.yes:
        notes = ("events that the log has are known by their identity and stay", "nothing was read; do it with --yes")
        return _result(context, (), {"planned": len(plan.rows())}, notes, ())
    outcomes, counters = dict[str, TableOutcome](), Counter[str]()
    messages, alerts = dict[str, None](), dict[str, None]()
    with hold_tables(names, job=context.job, settings=settings):
        check_intake(settings)
        may_add = may_supplement(settings)
        if not may_add and plan.files:
            raise ContractError(
                "--again: people were erased from this lake, and a landing file that was edited would be read as other "
                "events; name offsets of Kafka, or deliver what is missing in a new file"
            )
        if not may_add:
            messages["people were erased from this lake; erase again whom these messages name"] = None
        for delivery in plan.deliveries(max_records=context.options.max_events or settings.max_events):
            timelines = [settled_timeline(context.spark, name, settings) for name in names]
            taken = ingest_delivery(context, delivery, timelines, by=Rereading)
            done = list(taken.outcomes)
            if may_add and taken.counters.get("records_duplicate"):
                timeline = settled_timeline(context.spark, spec.log, settings)
                done.append(supplement(context, delivery, timeline))
                counters["events_supplemented"] += done[-1].rows
            for each in done:
                outcomes[each.table] = _with(outcomes.get(each.table), each)
            counters.update({name: count for name, count in taken.counters.items() if name != "has_more"})
            messages |= dict.fromkeys(taken.messages)
            alerts |= dict.fromkeys(taken.alerts if any(each.is_committed for each in done) else ())
    return _result(context, tuple(outcomes.values()), dict(counters), tuple(messages), tuple(alerts))


def _with(known: TableOutcome | None, outcome: TableOutcome) -> TableOutcome:
    """What several commits of a table came to."""
    if known is None:
        return outcome
    is_committed = known.is_committed or outcome.is_committed
    return replace(outcome, rows=known.rows + outcome.rows, is_committed=is_committed)


def _result(
    context: JobContext[IngestOptions],
    outcomes: tuple[TableOutcome, ...],
    counters: Mapping[str, int],
    messages: tuple[str, ...],
    alerts: tuple[str, ...],
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=outcomes,
        counters=counters,
        messages=messages,
        alerts=alerts,
    )


JOB = Job(options=IngestOptions, run=run, check=check, needs_spark=needs_spark)
