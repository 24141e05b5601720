"""What comes into a lake with a history, round after round: new sales, and corrections of old ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.history import END, History
from bench.log_rows import AGENTS, UNITS, amount, build_log_rows, to_ms
from bench.workload import pick
from spark_jobs.generator.funnel import LEAD, RESERVATION, SIGNED

ROUND_EVENTS, CORRECTIONS = 10_000, 1_000
_ROUND = timedelta(minutes=5)
_YEAR_SECONDS = 365 * 86_400


def clock_of(number: int) -> datetime:
    """The clock at which a round's events are ingested; those of all rounds are of one day."""
    return END + (number + 1) * _ROUND


def round_events(spark: SparkSession, history: History, number: int) -> DataFrame:
    """Log rows of one round.

    Of twenty, eight are new sales (half of them signed today); the others are about old ones, drawn from all: seven
    say another subtotal, two another agent, two another day of signing, one deletes.
    """
    i, at, kind = F.col("id"), F.lit(number), F.col("id") % 20
    is_new, is_amount, is_agent = kind < 8, kind.between(8, 14), kind.between(15, 16)
    is_day, is_signed = kind.between(17, 18), (kind < 8) & (kind % 2 == 0)
    now, ago = F.timestamp_millis(_at_ms(number)), pick(_YEAR_SECONDS, i, at, "day")
    new_sale = i + (history.sales + number * ROUND_EVENTS + 1)
    values = {
        "sale_id": F.when(is_new, new_sale).otherwise(pick(history.sales, i, at, "sale") + 1),
        "status_id": F.when(is_signed, SIGNED).when(is_new, pick(RESERVATION, i, at, "status") + LEAD),
        "agent_id": F.when(is_new | is_agent, pick(AGENTS, i, at, "agent") + 1),
        "unit_id": F.when(is_new, pick(UNITS, i, at, "unit") + 1),
        "customer_id": F.when(is_new, pick(history.sales, i, at, "customer") + 1),
        "contract_subtotal": F.when(is_signed | is_amount, amount(i, at)),
        "contract_signing_date": F.when(is_signed, now).when(
            is_day, F.timestamp_seconds(F.lit(to_ms(END) // 1000) - ago)
        ),
    }
    op = F.when(is_new, "c").when(kind == 19, "d").otherwise("u")
    return _new_events(spark, history, ROUND_EVENTS, number, op, values)


def corrections(spark: SparkSession, history: History, number: int, month: int) -> DataFrame:
    """Log rows about sales that opened in one month of the history.

    Of twenty, fourteen say another subtotal, five another agent, one deletes.
    """
    i, at, kind = F.col("id"), F.lit(number), F.col("id") % 20
    sales = history.sales_of_month(month)
    values = {
        "sale_id": pick(len(sales), i, at, "sale") + sales.start,
        "contract_subtotal": F.when(kind < 14, amount(i, at)),
        "agent_id": F.when(kind.between(14, 18), pick(AGENTS, i, at, "agent") + 1),
    }
    return _new_events(spark, history, CORRECTIONS, number, F.when(kind == 19, "d").otherwise("u"), values)


def _new_events(
    spark: SparkSession, history: History, count: int, number: int, op: Column, values: Mapping[str, Column]
) -> DataFrame:
    rows_df, tie = spark.range(count, numPartitions=2), F.xxhash64("id", F.lit(number))
    return build_log_rows(rows_df, history.spec, op=op, at_ms=_at_ms(number), tie=tie, values=values)


def _at_ms(number: int) -> Column:
    return F.lit(to_ms(END + number * _ROUND)) + F.col("id")
