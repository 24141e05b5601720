"""What is new where events are delivered, by what the log's commits say was read of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spark_jobs.contracts.errors import MessagesLostError
from spark_jobs.contracts.kafka import Start, has_progress, unpack_progress
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.snapshots import Snapshot, unpack_snapshots
from spark_jobs.lake_spec.origins import SOURCES_KEY
from spark_jobs.lake_spec.schemas import SCHEMAS_KEY
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.undeclared_columns import UNDECLARED_KEY
from spark_jobs.sources.delivery import (
    LEDGER_KEY,
    PROGRESS_KEY,
    SNAPSHOTS_KEY,
    Deliveries,
    Delivery,
    KafkaDelivery,
    LandingDelivery,
)
from spark_jobs.sources.file_scan import LedgerEntry, scan_here
from spark_jobs.sources.kafka import KafkaCluster, client_properties
from spark_jobs.sources.kafka_plan import plan_kafka
from spark_jobs.sources.landing import Scan, find_oldest_unread, list_landing, plan_landing, unpack_ledger
from spark_jobs.sources.topics import is_topic
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

_CARRIED = (LEDGER_KEY, PROGRESS_KEY, SNAPSHOTS_KEY, SCHEMAS_KEY, UNDECLARED_KEY, SOURCES_KEY)


def find_delivery(
    spec: LakeSpec,
    log_timeline: Timeline,
    settings: Settings,
    *,
    clock: datetime,
    max_records: int,
    accepted: Collection[str] = (),
    scan: Scan = scan_here,
) -> Delivery:
    """Look what is new in the landing path, and in Kafka's topics where the settings name servers.

    Of both, files are at most half of what is read, so that neither keeps the other waiting.

    Args:
        spec: the lake, with the topics that are its own.
        log_timeline: of the log, whose newest commits say what was read.
        settings: where to look.
        clock: the run's; a file that has not changed for long before it gets no more bytes.
        max_records: most to read.
        accepted: Kafka's topics whose lost messages a person accepts.
        scan: how files are looked through.

    Raises:
        MessagesLostError: messages are gone that were never read, and the loss was not accepted.
        SettingsError: Kafka does not let us in.
        TransientError: Kafka does not answer.
    """
    if not settings.kafka_servers:
        return _of_landing(spec, log_timeline, settings, clock=clock, max_records=max_records, scan=scan)
    most = max(max_records // 2, 1)
    files = _of_landing(spec, log_timeline, settings, clock=clock, max_records=most, scan=scan)
    left = max(max_records - files.plan.records, 1)
    messages = _of_kafka(spec, log_timeline, settings, max_records=left, accepted=accepted)
    if files.files:
        return Deliveries(parts=(messages, files))
    return replace(messages, messages=(*messages.messages, *files.messages))


def waits_since(spec: LakeSpec, log_timeline: Timeline, settings: Settings, clock: datetime) -> datetime | None:
    """Since when something has waited to be ingested; None when there is nothing, or Kafka does not say of when it is.

    It is the time of the message, or of the file's last change.
    """
    waiting = _file_waits_since(spec, log_timeline, settings, clock)
    if not settings.kafka_servers:
        return waiting
    plan = _of_kafka(spec, log_timeline, settings, max_records=settings.max_events, accepted=None).plan
    first = {(span.topic, span.partition): span for span in reversed(plan.spans)}
    oldest = KafkaCluster(properties=client_properties(settings)).oldest_message([*first.values()])
    return min((moment for moment in (oldest, waiting) if moment), default=None)


def _file_waits_since(spec: LakeSpec, log_timeline: Timeline, settings: Settings, clock: datetime) -> datetime | None:
    """When the oldest file of the landing path that is to be read was changed."""
    files = Filesystem(settings.landing_path)
    entries, _ = list_landing(files, spec.source.topics)
    entry = find_oldest_unread(
        files,
        entries,
        read_ledger(log_timeline),
        max_records=settings.max_events,
        truncated_before_ns=_truncated_before_ns(clock, settings),
    )
    return datetime.fromtimestamp(entry.modified_ns / 1e9, tz=UTC) if entry else None


def read_ledger(log_timeline: Timeline) -> dict[str, LedgerEntry]:
    """What the log's commits say was read of the landing files."""
    return unpack_ledger(log_timeline.newest_metadata(METADATA_PREFIX + LEDGER_KEY))


def read_snapshots(log_timeline: Timeline) -> dict[str, Snapshot]:
    """What the log's commits say was read of tables of databases."""
    return unpack_snapshots(log_timeline.newest_metadata(METADATA_PREFIX + SNAPSHOTS_KEY))


def checkpoints(log_timeline: Timeline) -> dict[str, str]:
    """For the log's next commit, what the commits before it say was read, and is known of columns.

    It has to be in the newest ones: older ones are archived. What no commit has is carried as "", so that the next run
    does not look for it through the whole timeline, a request for each commit on object storage.
    """
    return {key: log_timeline.newest_metadata(METADATA_PREFIX + key) or "" for key in _CARRIED}


def _of_landing(
    spec: LakeSpec, log_timeline: Timeline, settings: Settings, *, clock: datetime, max_records: int, scan: Scan
) -> LandingDelivery:
    """What is new in the landing path."""
    files = Filesystem(settings.landing_path)
    entries, messages = list_landing(files, spec.source.topics)
    plan = plan_landing(
        files,
        entries,
        read_ledger(log_timeline),
        max_records=max_records,
        truncated_before_ns=_truncated_before_ns(clock, settings),
        scan=scan,
    )
    reported = (*messages, *plan.messages)
    return LandingDelivery(plan=plan, root=settings.landing_path, files=len(entries), messages=reported)


def _of_kafka(
    spec: LakeSpec, log_timeline: Timeline, settings: Settings, *, max_records: int, accepted: Collection[str] | None
) -> KafkaDelivery:
    """What is new in the topics; with ``accepted`` None whatever is lost."""
    properties, start = client_properties(settings), Start.parse(settings.kafka_start)
    packed = log_timeline.newest_metadata(METADATA_PREFIX + PROGRESS_KEY)
    known = unpack_progress(packed)
    own = {topic: of for topic, of in known.items() if is_topic(topic, spec.source.topics)}
    topics = KafkaCluster(properties=properties).topics(spec.source.topics, start)
    plan = plan_kafka(
        topics,
        own,
        start=start,
        max_records=max_records,
        accepted=own if accepted is None else accepted,
        is_first=not has_progress(packed),
    )
    if plan.losses:
        raise MessagesLostError(lost={loss.topic: loss.details for loss in plan.losses})
    none = () if topics else (f"none of Kafka's topics is one of {list(spec.source.topics)}",)
    return KafkaDelivery(
        plan=plan,
        topics=len(topics),
        others={topic: of for topic, of in known.items() if topic not in own},
        messages=(*none, *plan.messages),
        properties=properties,
    )


def _truncated_before_ns(clock: datetime, settings: Settings) -> int:
    """Files that have not changed since, in nanoseconds since 1970, get no more bytes: what they lack never comes."""
    return int((clock - timedelta(seconds=settings.truncated_after_seconds)).timestamp() * 1e9)
