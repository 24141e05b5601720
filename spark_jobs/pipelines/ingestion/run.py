"""Everything new in the landing path and in Kafka's topics, or one delivery of it, into the log and the quarantine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.context import AnyContext
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.pipelines.ingestion.intake import Intake
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import describe_verdicts
from spark_jobs.sources.delivery import Delivery
from spark_jobs.sources.discovery import checkpoints, find_delivery
from spark_jobs.sources.file_scans import scan_with
from spark_jobs.sources.kafka import reading
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOutcome:
    """The outcomes of one ingest of what was delivered; ``checkpoints`` say up to where it is read now."""

    outcomes: tuple[TableOutcome, ...]
    counters: dict[str, int]
    messages: tuple[str, ...]
    alerts: tuple[str, ...]
    checkpoints: dict[str, str]
    has_more: bool


def ingest_new(context: AnyContext, *, max_records: int | None = None, accepted: Sequence[str] = ()) -> IngestOutcome:
    """Ingest what is new, at most so many records. The caller holds the leases of log and quarantine.

    Args:
        context: of the run.
        max_records: the most to read (default: ``LAKEHOUSE_MAX_EVENTS``).
        accepted: topics of Kafka that go on although messages were lost.
    """
    spark, spec, settings = context.spark, context.spec, context.settings
    log_timeline = settled_timeline(spark, spec.log, settings)
    quarantine_timeline = settled_timeline(spark, spec.quarantine, settings)
    delivery = find_delivery(
        spec,
        log_timeline,
        settings,
        clock=context.clock,
        max_records=max_records or settings.max_events,
        accepted=accepted,
        scan=scan_with(spark, settings.landing_path),
    )
    return ingest_delivery(context, delivery, (log_timeline, quarantine_timeline))


def ingest_delivery(
    context: AnyContext, delivery: Delivery, timelines: Sequence[Timeline], *, by: type[Intake] = Intake
) -> IngestOutcome:
    """Ingest one delivery. The timelines of log and quarantine are settled, and the caller holds their leases."""
    log_timeline, quarantine_timeline = timelines
    counters = {"records_read": 0, **delivery.counters, "has_more": int(delivery.has_more)}
    messages, alerts = delivery.messages, tuple[str, ...]()
    outcomes = [TableOutcome(table=t.table, instant=t.last, rows=0, is_committed=False) for t in timelines]
    if not delivery.is_empty:
        log.info("reading %s", ", ".join(f"{what}: {count:,}" for what, count in delivery.counters.items()))
        intake = by(
            context=context,
            delivery=delivery,
            log_timeline=log_timeline,
            quarantine_timeline=quarantine_timeline,
        )
        with reading():
            outcomes = intake.commit()
        counters |= intake.counters
        alerts = intake.alerts
        messages = (*messages, *intake.messages, *describe_verdicts(context.spec.log, intake.verdicts))
    Holds(context.settings).release({context.spec.log})
    return IngestOutcome(
        outcomes=tuple(outcomes),
        counters=counters,
        messages=messages,
        alerts=alerts,
        checkpoints={**checkpoints(log_timeline), **delivery.checkpoint},
        has_more=delivery.has_more,
    )
