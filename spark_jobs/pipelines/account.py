"""The account of a batch: what is measured of its records, how far its events come, and that each has one fate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import format_clock, parse_clock
from spark_jobs.contracts.errors import UnbalancedError
from spark_jobs.frames import collect_together
from spark_jobs.pipelines.undeclared_columns import has_undeclared
from spark_jobs.quality.freshness import NEWEST_EVENT_KEY
from spark_jobs.quality.gate import Gate
from spark_jobs.sources.kafka_plan import MESSAGES
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import is_of_the_source, is_rejected, is_set_aside, is_usable


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFacts:
    """What :func:`measure` finds: counts of a batch's records, and where its events are in the log.

    ``ignored`` are neither usable nor rejected, because no table is made of them; ``others`` are the tables that those
    are of. ``undeclared`` are events of the wide log with columns that are not declared. ``distinct`` are the events,
    ``torn`` those among them that were delivered with times of more than one day. ``days`` has the first and the last
    event order of each day that has some, ``day_records`` how many usable records are of it.
    """

    messages: int
    ignored: int
    usable: int
    rejected: int
    set_aside: int
    undeclared: int
    of_the_source: int
    distinct: int
    torn: int
    others: Sequence[str]
    days: Mapping[str, tuple[str, str]]
    day_records: Mapping[str, int]
    newest: datetime | None
    """The latest event time; one after the run's clock is a mistake of its source and does not count."""
    checked: Mapping[str, Any]
    """What the gate's aggregates gave, by their names, for :meth:`~spark_jobs.quality.gate.Gate.judge`."""


def measure(decoded_df: DataFrame, gate: Gate, clock: datetime) -> BatchFacts:
    """Measure decoded records with ``event_date``, in one Spark job."""
    return facts_of(collect_together(account_queries(decoded_df, gate, clock)))


def account_queries(decoded_df: DataFrame, gate: Gate, clock: datetime) -> dict[str, DataFrame]:
    """What :func:`facts_of` is to be given of decoded records with ``event_date``.

    Events and days are counted by queries of their own: in the first one, all its aggregates would be kept for each.
    """
    usable, rejected = is_usable(), is_rejected()
    has_happened = F.col("event_time") <= F.lit(clock)
    records_df = decoded_df.agg(
        F.count_if(F.col("read_from").startswith(MESSAGES)).alias("messages"),
        F.count_if(~usable & ~rejected).alias("ignored"),
        F.count_if(usable).alias("usable"),
        F.count_if(rejected).alias("rejected"),
        F.count_if(is_set_aside()).alias("set_aside"),
        F.count_if(usable & has_undeclared(decoded_df)).alias("undeclared"),
        F.count_if(is_of_the_source()).alias("of_the_source"),
        F.collect_set(F.when(~usable & ~rejected & (F.col("detail") != ""), F.col("detail"))).alias("others"),
        F.max(F.when(usable & has_happened, F.col("event_time"))).alias("newest"),
        *gate.aggregates(decoded_df.schema, of=usable | is_set_aside()),
    )
    day = F.unix_date(F.col("event_time").cast("date"))
    events_df = decoded_df.where(usable).groupBy("event_id").agg(F.min(day).alias("first"), F.max(day).alias("last"))
    dated_df = decoded_df.where(usable & F.col("event_date").isNotNull()).groupBy("event_date")
    return {
        "records": records_df,
        "events": events_df.agg(
            F.count("*").alias("distinct"), F.count_if(F.col("first") < F.col("last")).alias("torn")
        ),
        "days": dated_df.agg(
            F.min("event_order").alias("first"), F.max("event_order").alias("last"), F.count("*").alias("records")
        ),
    }


def facts_of(rows: Mapping[str, Sequence[Row]]) -> BatchFacts:
    """The facts, from the rows of :func:`account_queries`."""
    (records,), (events,) = rows["records"], rows["events"]
    found: dict[str, Any] = {**records.asDict(), **events.asDict()}
    names = {each.name for each in fields(BatchFacts)}
    return BatchFacts(
        **{name: value for name, value in found.items() if name in names},
        days={row["event_date"]: (row["first"], row["last"]) for row in rows["days"]},
        day_records={row["event_date"]: row["records"] for row in rows["days"]},
        checked={name: value for name, value in found.items() if name not in names},
    )


def newest_event(log_timeline: Timeline, newest: datetime | None) -> dict[str, str]:
    """For the log's commit: the latest event time that the log knows, with the ``newest`` of a batch (UTC)."""
    known = log_timeline.newest_metadata(METADATA_PREFIX + NEWEST_EVENT_KEY)
    moments = [parse_clock(text) for text in (known, newest and newest.isoformat()) if text]
    return {NEWEST_EVENT_KEY: format_clock(max(moments))} if moments else {}


def check_balance(table: str, counts: Mapping[str, int]) -> None:
    """Raise UnbalancedError unless every record that was ``read`` is accounted for.

    ``read`` was counted by what delivered the records, ``written`` and ``quarantined`` by the commits, ``duplicates``
    by executors.
    """
    rows = dict(counts)
    read = rows.pop("read")
    if sum(rows.values()) != read:
        counted = ", ".join(f"{count:,} {what}" for what, count in rows.items())
        raise UnbalancedError(table=table, read=read, counted=counted)
