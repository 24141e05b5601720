"""Every metric of the platform: its name, its unit, its labels, and what it says (docs/metrics.md).

Those of the lake are read from its timelines by the job ``metrics``. Those of runs are sent by each run of a job, by
OTLP. Names are Prometheus's; OpenTelemetry's have dots, and the unit and ``_total`` come from the kind and the unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LAKE = "lake"
"""The label of the lake that every metric has."""


class MetricKind(StrEnum):
    """How values of a metric go together."""

    GAUGE = "gauge"
    """A state."""
    COUNTER = "counter"
    """It only grows, from 0 on, while its process lives."""
    HISTOGRAM = "histogram"
    """How often, how much, and by size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric; ``labels`` are those beside that of the lake."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: MetricKind = MetricKind.GAUGE
    unit: str = ""
    """As OpenTelemetry writes it: ``s``, ``By``; "" for a number of things."""

    @property
    def all_labels(self) -> tuple[str, ...]:
        """Its labels, that of the lake first."""
        return (LAKE, *self.labels)


_TABLE = ("table",)

FRESHNESS = Metric(
    name="lakehouse_table_freshness_seconds",
    unit="s",
    labels=_TABLE,
    help="age of the newest event that the table knows of; not there before it knows one",
)
FRESHNESS_PROMISED = Metric(
    name="lakehouse_table_freshness_promised_seconds",
    unit="s",
    labels=_TABLE,
    help="the age of its newest event that the table promises to stay below; not there without a promise",
)
WAITING = Metric(
    name="lakehouse_table_waiting_seconds",
    unit="s",
    labels=_TABLE,
    help="for how long the oldest thing has waited that reached the lake and that the table lacks; 0 when none does",
)
WAITING_PROMISED = Metric(
    name="lakehouse_table_waiting_promised_seconds",
    unit="s",
    labels=_TABLE,
    help="the time that the table promises nothing to wait longer than; not there without a promise",
)
READABLE = Metric(
    name="lakehouse_table_readable",
    labels=_TABLE,
    help="1 when the table can be looked at, 0 when it cannot: then only holds are known of it (doctor check says why)",
)
LAST_COMMIT = Metric(
    name="lakehouse_table_last_commit_timestamp_seconds",
    unit="s",
    labels=_TABLE,
    help="when the newest commit that changed rows was begun, in seconds since 1970",
)
FILES = Metric(
    name="lakehouse_table_files",
    labels=(*_TABLE, "type"),
    help="files that a reader of the newest state opens: base files, and log files that it has to merge",
)
BYTES = Metric(name="lakehouse_table_size_bytes", unit="By", labels=(*_TABLE, "type"), help="bytes of those files")
TIMELINE = Metric(
    name="lakehouse_timeline_commits",
    labels=_TABLE,
    help="commits on the active timeline, which every reader and writer lists",
)
TIMELINE_TARGET = Metric(
    name="lakehouse_timeline_archive_commits",
    labels=_TABLE,
    help="commits above which the service archive is due",
)
PENDING_PLANS = Metric(
    name="lakehouse_timeline_pending_plans",
    labels=_TABLE,
    help="compactions and clusterings that were planned and did not end",
)
PENDING_WRITES = Metric(
    name="lakehouse_timeline_pending_writes",
    labels=_TABLE,
    help="everything else that was begun and did not end: writes, cleans, rollbacks, restores",
)
PENDING_SECONDS = Metric(
    name="lakehouse_timeline_pending_seconds",
    unit="s",
    labels=_TABLE,
    help="since when the oldest of both is pending; 0 when nothing is",
)
LAG = Metric(
    name="lakehouse_consumer_lag_commits",
    labels=("consumer", "table"),
    help="commits of the table that changed rows and that the consumer has not read",
)
LAG_SECONDS = Metric(
    name="lakehouse_consumer_lag_seconds",
    unit="s",
    labels=("consumer", "table"),
    help="age of the oldest of them; 0 when there is none",
)
HEADROOM = Metric(
    name="lakehouse_consumer_headroom_commits",
    labels=("consumer", "table"),
    help="commits on the timeline that are older than the consumer's place: so many can be archived before it is the "
    "oldest, which holds archiving and cleaning back",
)
LOST = Metric(
    name="lakehouse_consumer_lost",
    labels=("consumer", "table"),
    help="1 when the consumer's place is not on the timeline: it reads the whole table next time",
)
QUARANTINE_OPEN = Metric(
    name="lakehouse_quarantine_open_records",
    labels=("reason",),
    help="quarantined records that nobody has replayed or discarded",
)
HELD = Metric(
    name="lakehouse_table_held",
    labels=_TABLE,
    help="1 for a table that is held back because of what was expected of it",
)
HELD_SECONDS = Metric(
    name="lakehouse_table_held_seconds", unit="s", labels=_TABLE, help="for how long it is held; 0 when it is not"
)
EXPECTATION_FAILED = Metric(
    name="lakehouse_expectation_failed",
    labels=(*_TABLE, "expectation", "outcome"),
    help="1 for each expectation that the newest commit broke, and for each that holds the table (outcome stopped)",
)
SOURCE_READABLE = Metric(
    name="lakehouse_source_readable", help="1 when what is delivered could be looked at: landing path and Kafka"
)
READ_SECONDS = Metric(name="lakehouse_exporter_read_seconds", unit="s", help="how long it took to read all of this")
READ_ERRORS = Metric(
    name="lakehouse_exporter_unread", labels=("part",), help="1 for each part of this that could not be read"
)
ROWS = Metric(
    name="lakehouse_rows_total",
    kind=MetricKind.COUNTER,
    labels=(*_TABLE, "outcome"),
    help="rows of commits: added, changed and removed by them, upserted where a commit does not say which, and what "
    "their gates counted: read, duplicates, quarantined and others",
)
COMMITS = Metric(
    name="lakehouse_commits_total",
    kind=MetricKind.COUNTER,
    labels=(*_TABLE, "kind"),
    help="completed steps of timelines: writes, services, rollbacks, restores, savepoints",
)
BYTES_WRITTEN = Metric(
    name="lakehouse_written_bytes_total",
    kind=MetricKind.COUNTER,
    unit="By",
    labels=(*_TABLE, "kind"),
    help="bytes of the files that commits wrote; by what landed, they are the write amplification",
)
LANDED = Metric(
    name="lakehouse_landed_bytes_total",
    kind=MetricKind.COUNTER,
    unit="By",
    help="bytes of landing files that ingest has read, each once; messages of Kafka are not among them",
)
COMMIT_SECONDS = Metric(
    name="lakehouse_commit_seconds_total",
    kind=MetricKind.COUNTER,
    unit="s",
    labels=(*_TABLE, "kind"),
    help="from the beginning of commits to their end",
)

LAKE_STATE = (
    FRESHNESS, FRESHNESS_PROMISED, WAITING, WAITING_PROMISED, READABLE, LAST_COMMIT, FILES, BYTES, TIMELINE,
    TIMELINE_TARGET, PENDING_PLANS, PENDING_WRITES, PENDING_SECONDS, LAG, LAG_SECONDS, HEADROOM, LOST, QUARANTINE_OPEN,
    HELD, HELD_SECONDS, EXPECTATION_FAILED, SOURCE_READABLE, READ_SECONDS, READ_ERRORS,
)  # fmt: skip
"""What the lake is now."""
LAKE_COUNTERS = (ROWS, COMMITS, BYTES_WRITTEN, LANDED, COMMIT_SECONDS)
"""What was committed since the exporter began: only one that keeps running has them."""
LAKE_METRICS = (*LAKE_STATE, *LAKE_COUNTERS)

RUNS = Metric(
    name="lakehouse.run.count",
    kind=MetricKind.COUNTER,
    labels=("lake_job", "outcome"),
    help="runs of jobs: done, nothing_to_do, reported (it ran to its end and found what must not be), try_again, error",
)
RUN_SECONDS = Metric(
    name="lakehouse.run.duration",
    kind=MetricKind.HISTOGRAM,
    unit="s",
    labels=("lake_job", "outcome"),
    help="how long runs took",
)
RUN_ROWS = Metric(
    name="lakehouse.run.rows",
    kind=MetricKind.COUNTER,
    labels=("lake_job", "table"),
    help="rows that runs wrote",
)
RUN_COUNTS = Metric(
    name="lakehouse.run.results",
    kind=MetricKind.COUNTER,
    labels=("lake_job", "counter"),
    help="the counters of runs' results, such as records_read",
)
STAGE_SECONDS = Metric(
    name="lakehouse.run.stage.duration",
    kind=MetricKind.HISTOGRAM,
    unit="s",
    labels=("lake_job", "stage", "table"),
    help="how long stages of runs took: lease (waiting for another writer), session (starting Spark), write (a commit, "
    "with the computing of its rows)",
)
STAGE_BYTES = Metric(
    name="lakehouse.run.stage.io",
    kind=MetricKind.COUNTER,
    unit="By",
    labels=("lake_job", "stage", "table"),
    help="bytes of the files that the stage wrote",
)
RUN_METRICS = (RUNS, RUN_SECONDS, RUN_ROWS, RUN_COUNTS, STAGE_SECONDS, STAGE_BYTES)
"""What a run of a job sends."""
