"""Which events of a batch the log has already."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.frames import counted_rows, union
from spark_jobs.pipelines.account import BatchFacts
from spark_jobs.sources.decoding import SOURCE_ORIGIN
from spark_jobs.storage.latest_files import latest_files, read_files
from spark_jobs.storage.layouts import EVENT_DATE
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import is_usable

_STORED = "__stored_id"
_MOST_LITERALS = 200
_MOST_RANGES = 20
_SORTED_BYTES = 32 * 1024 * 1024
"""Of files with so many bytes the ids are sorted sooner than those of the batch are sent to every task."""


def known_events(
    spark: SparkSession,
    log_timeline: Timeline,
    decoded_df: DataFrame,
    facts: BatchFacts,
    *,
    former: Sequence[str] = (),
) -> DataFrame | None:
    """``event_id`` of the events of a batch that the log has already; None when it has nothing of their days.

    Of origins in ``former`` the log may also have them under the id without connector and database.

    Args:
        spark: the session.
        log_timeline: of the log, settled, whose lease the caller holds.
        decoded_df: the batch, pinned.
        facts: what was measured of it.
        former: origins of which the log may have an event under its former id.
    """
    files = latest_files(log_timeline, [f"{EVENT_DATE}={day}" for day in facts.days])
    if files is not None and not files:
        return None
    ranges = [F.col("event_order").between(F.lit(first), F.lit(last)) for first, last in order_ranges(facts.days)]
    is_near = reduce(operator.or_, ranges, F.lit(False))
    if files:
        stored_df = read_files(spark, log_timeline, [*files], "event_id string, event_order string").where(is_near)
    else:
        is_near &= F.col(EVENT_DATE).isin([*facts.days])
        stored_df = read_snapshot(spark, log_timeline.path).where(is_near)
    usable_df = decoded_df.where(is_usable())
    delivered_df = usable_df.select("event_id")
    if files and sum(file.size for file in files.values()) <= _SORTED_BYTES:
        # Sorted on both sides: the other join would gather the batch's ids in the driver first, in a job of its own.
        stored_df = stored_df.hint("merge")
    if not former:
        return stored_df.select("event_id").join(delivered_df, "event_id", "left_semi")
    earlier_df = usable_df.where(F.col(SOURCE_ORIGIN).isin(*former)).select("event_id", _former_id().alias(_STORED))
    names_df = union([delivered_df.withColumn(_STORED, F.col("event_id")), earlier_df])
    stored_ids_df = stored_df.select(F.col("event_id").alias(_STORED))
    return names_df.join(stored_ids_df, _STORED, "left_semi").select("event_id").distinct()


def order_ranges(days: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
    """The ranges of event orders in which an event of the batch may be in the log, few, in their order.

    Those of the days, so that a late event does not have all be read that lies between it and the others. They hold on
    every day: what is delivered again may be of another one.

    Args:
        days: the first and the last event order of each day.
    """
    ranges = list[tuple[str, str]]()
    for first, last in sorted(days.values()):
        if ranges and (first <= ranges[-1][1] or len(ranges) == _MOST_RANGES):
            ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
        else:
            ranges.append((first, last))
    return ranges


def without_known(rows_df: DataFrame, known_df: DataFrame) -> tuple[DataFrame, int]:
    """The rows whose ``event_id`` is none of ``known_df`` (``event_id``, each once, pinned), and how many these are.

    Of few the rows are kept by a condition: the join would send them to every task in a job of its own.
    """
    count, known = counted_rows(known_df, _MOST_LITERALS)
    if known is None:
        return rows_df.join(known_df, "event_id", "left_anti"), count
    is_known = F.col("event_id").isin([row["event_id"] for row in known])
    return (rows_df.where(~F.coalesce(is_known, F.lit(False))) if known else rows_df), count


def with_former_ids(decoded_df: DataFrame, former: Sequence[str]) -> DataFrame:
    """Decoded records, those of origins in ``former`` once more under the id without connector and database.

    The log has an event under one of the two.
    """
    if not former:
        return decoded_df
    earlier_df = decoded_df.where(F.col(SOURCE_ORIGIN).isin(*former)).withColumn("event_id", _former_id())
    return union([decoded_df, earlier_df])


def _former_id() -> Column:
    return F.regexp_replace("event_id", "@[^@]*$", "")
