"""Two years of sales as a log would have them, and the tables that split would make of it; of expressions alone.

Nothing is drawn at random: every value is a hash of the numbers of its sale and step, so two runs see the same bytes,
and the newest values of every sale are known without folding its events.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.log_rows import AGENTS, UNITS, amount, build_log_rows, dependent_columns, event_order, to_ms
from bench.workload import pick
from spark_jobs.generator.funnel import CANCELLED, LOST, RESERVATION, SIGNED
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER
from spark_jobs.transforms.column_orders import order_column, table_columns
from spark_jobs.transforms.keyed_rows import DELETED_ORDER

START, END = datetime(2024, 6, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
MONTHS = 24
EVENTS_A_SALE = 5
"""On the mean: a quarter of the sales take all eight steps to the signing, the others one to seven."""
ROWS_A_TASK = 250_000
_HOUR_MS = 3_600_000
_START_MS, _END_MS = to_ms(START), to_ms(END)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """About ``events`` events of the log of ``spec``, from ``START`` to ``END``; sales open one after another."""

    spec: LakeSpec
    events: int

    @property
    def sales(self) -> int:
        """How many sales there are; their numbers begin with 1."""
        return max(MONTHS, round(self.events / EVENTS_A_SALE))

    @property
    def tasks(self) -> int:
        """Into how many parts work over all of the history is cut."""
        return max(2, round(self.events / ROWS_A_TASK))

    def sales_of_month(self, month: int) -> range:
        """Numbers of the sales that open in a month of the history, 0 to 23."""
        return range(self._first_sale(month_start(month)), self._first_sale(month_start(month + 1)))

    def opened_ms(self, sale: int) -> int:
        """When a sale opens, in milliseconds since 1970."""
        return _START_MS + (sale - 1) * (_END_MS - _START_MS) // self.sales

    def log_rows(self, spark: SparkSession) -> DataFrame:
        """The events, as rows of the log."""
        return self._events(self._steps(spark).where(F.col("at_ms") < _END_MS))

    def sales_rows(self, spark: SparkSession) -> DataFrame:
        """The table ``sales``: of each the last image, with its order for all that is known; or a tombstone."""
        is_last = (F.col("at_ms") < _END_MS) & F.coalesce(F.col("next_ms") >= _END_MS, F.lit(True))
        last_df = self._events(self._steps(spark).where(is_last))
        table, is_live = self.spec.table("sales"), F.col("op") != "d"
        columns = {}
        for name in table.columns:
            columns[name] = F.when(is_live, F.col(name))
            columns[order_column(name)] = F.when(is_live & F.col(name).isNotNull(), F.col("event_order"))
        columns[ROW_ORDER] = F.when(is_live, F.col("event_order"))
        columns[DELETED_ORDER] = F.when(~is_live, F.col("event_order"))
        columns[IS_DELETED] = ~is_live
        rows_df = last_df.select("sale_id", *(column.alias(name) for name, column in columns.items()))
        return rows_df.select(*table_columns(table))

    def units_rows(self, spark: SparkSession) -> DataFrame:
        """The table ``units``, as if each had been named once when the history began."""
        table = self.spec.table("units")
        units_df = spark.range(1, UNITS + 1, numPartitions=2).withColumnRenamed("id", "unit_id")
        known = dependent_columns(units_df.columns)
        order = event_order(F.lit(_START_MS), F.lit(0).cast("bigint"))
        columns = [known[name].alias(name) for name in table.columns]
        return units_df.select("unit_id", *columns, *(order.alias(order_column(name)) for name in table.columns))

    def _first_sale(self, moment: datetime) -> int:
        """The first sale that opens at ``moment`` or later."""
        return 1 - (_START_MS - to_ms(moment)) * self.sales // (_END_MS - _START_MS)

    def _steps(self, spark: SparkSession) -> DataFrame:
        """sale_id, step, length (its steps without the delete), at_ms, next_ms (null after the last step)."""
        sale, step, gap = F.col("sale_id"), F.col("step"), F.col("gap")
        opened = F.expr(f"((sale_id - 1) * {_END_MS - _START_MS}L) div {self.sales}L") + F.lit(_START_MS)

        def at(place: Column) -> Column:
            later = F.when(place > 1, pick(6 * _HOUR_MS, sale, place)).otherwise(0)
            return (opened + (place - 1) * gap + later).cast("bigint")

        sales_df = spark.range(1, self.sales + 1, numPartitions=self.tasks).select(
            F.col("id").alias("sale_id"),
            F.when(_is_signed(F.col("id")), 8).otherwise(pick(7, F.col("id"), "length") + 1).alias("length"),
            ((pick(132, F.col("id"), "gap") + 12) * _HOUR_MS).alias("gap"),
        )
        is_dropped = pick(100, sale, "dropped") == 0
        steps_df = sales_df.withColumn("steps", (F.col("length") + is_dropped.cast("int")).cast("int"))
        steps_df = steps_df.select("*", F.explode(F.sequence(F.lit(1), F.col("steps"))).alias("step"))
        next_ms = F.when(step < F.col("steps"), at(step + 1))
        return steps_df.select("sale_id", "step", "length", at(step).alias("at_ms"), next_ms.alias("next_ms"))

    def _events(self, steps_df: DataFrame) -> DataFrame:
        """Log rows of steps, each with all that is known of its sale then; a delete has the image before it."""
        sale, length = F.col("sale_id"), F.col("length")
        step = F.least(F.col("step").cast("bigint"), length.cast("bigint"))
        closed = pick(CANCELLED - LOST + 1, sale, "closed") + LOST
        is_closed = (step == length) & (length > 1) & ~_is_signed(sale) & (pick(4, sale, "closes") > 0)
        is_handed_over = (step > 2) & (pick(5, sale, "handed over") == 0)
        values = {
            "sale_id": sale,
            "status_id": F.when(is_closed, closed).otherwise(step),
            "agent_id": pick(AGENTS, sale, F.when(is_handed_over, "second").otherwise("first")) + 1,
            "unit_id": pick(UNITS, sale, "unit") + 1,
            "customer_id": pick(max(1, self.sales // 2), sale, "customer") + 1,
            "contract_subtotal": F.when(step >= RESERVATION, amount(sale, F.when(step < SIGNED, 1).otherwise(2))),
            "contract_signing_date": F.when(step >= SIGNED, F.timestamp_millis("at_ms")),
        }
        op = F.when(F.col("step") > length, "d").when(F.col("step") == 1, "c").otherwise("u")
        tie = F.xxhash64("sale_id", "step")
        return build_log_rows(steps_df, self.spec, op=op, at_ms=F.col("at_ms"), tie=tie, values=values)


def month_start(number: int) -> datetime:
    """When a month of the history begins; that of ``MONTHS`` is the history's end."""
    years, month = divmod(START.month - 1 + number, 12)
    return datetime(START.year + years, month + 1, 1, tzinfo=UTC)


def _is_signed(sale: Column) -> Column:
    return pick(4, sale, "signed") == 0
