"""Other ways to the contracts of each agent in the last year: Spark SQL over all of it, Delta with change data feed."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.lake import SALES, HistoryLake, wide
from bench.refreshing import Refresher
from spark_jobs.storage.reader import read_snapshot

AGENT_CONTRACTS = "stitch_agent_contracts"
SIGNED_COLUMNS = ("agent_id", "contract_subtotal", "contract_signing_date")
SALE_COLUMNS = ("unit_id", "status_id", *SIGNED_COLUMNS, "customer_id")


class SqlOverSales(Refresher):
    """The definition recomputed over the table of sales, and written as Parquet."""

    name = "SQL over the table of sales"

    def __init__(self, lake: HistoryLake, folder: str) -> None:
        self._lake, self._path = lake, f"{folder}/sql-over-sales"

    def refresh(self, clock: datetime) -> None:
        _write(self._lake, contracts_of_year(self._signed(), clock), self._path)

    def rows(self, mart: str) -> DataFrame:
        return self._lake.spark.read.parquet(self._path)

    def _signed(self) -> DataFrame:
        return self._lake.rows(SALES)


class SqlOverLog(SqlOverSales):
    """The same over the newest values of every sale, found among its events."""

    name = "SQL over the log"

    def __init__(self, lake: HistoryLake, folder: str) -> None:
        self._lake, self._path = lake, f"{folder}/sql-over-log"

    def _signed(self) -> DataFrame:
        log = self._lake.settings.table_path(self._lake.spec.log)
        return newest_sales(read_snapshot(self._lake.spark, log), SIGNED_COLUMNS)


class DeltaFeed(Refresher):
    """A Delta table of sales with change data feed, and one of agents' days that its changes are merged into.

    Events come in order, which the others do not count on: it keeps no order of any value.
    """

    name = "Delta MERGE with change data feed"

    def __init__(self, lake: HistoryLake, folder: str) -> None:
        self._spark: SparkSession = lake.spark
        self._sales, self._days, self._result = (f"{folder}/delta-{name}" for name in ("sales", "days", "result"))
        live_df = lake.history.sales_rows(lake.spark).where("NOT is_deleted").select("sale_id", *SALE_COLUMNS)
        live_df.write.format("delta").option("delta.enableChangeDataFeed", "true").save(self._sales)
        days_df = _agent_days(self._read(self._sales).withColumn("sign", F.lit(1)))
        days_df.write.format("delta").save(self._days)
        self._done = self._version()

    def take(self, events_df: DataFrame) -> bool:
        newest_sales(events_df, SALE_COLUMNS).createOrReplaceTempView("bench_sales")
        self._spark.sql(
            f"MERGE INTO delta.`{self._sales}` t USING bench_sales s ON t.sale_id = s.sale_id "
            "WHEN MATCHED AND s.is_deleted THEN DELETE "
            f"WHEN MATCHED AND s.was_deleted THEN UPDATE SET {', '.join(f't.{n} = s.{n}' for n in SALE_COLUMNS)} "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{n} = coalesce(s.{n}, t.{n})' for n in SALE_COLUMNS)} "
            f"WHEN NOT MATCHED AND NOT s.is_deleted THEN INSERT (sale_id, {', '.join(SALE_COLUMNS)}) "
            f"VALUES (s.sale_id, {', '.join(f's.{name}' for name in SALE_COLUMNS)})"
        ).collect()
        return True

    def refresh(self, clock: datetime) -> None:
        version = self._version()
        changes_df = (
            self._spark.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", self._done + 1)
            .option("endingVersion", version)
            .load(self._sales)
        )
        left = F.col("_change_type").isin("update_preimage", "delete")
        days_df = _agent_days(changes_df.withColumn("sign", F.when(left, -1).otherwise(1)))
        days_df.where("contracts <> 0 OR contract_total <> 0").createOrReplaceTempView("bench_days")
        self._spark.sql(
            f"MERGE INTO delta.`{self._days}` t USING bench_days s ON t.agent_id <=> s.agent_id AND t.day = s.day "
            "WHEN MATCHED AND t.contracts + s.contracts = 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET t.contracts = t.contracts + s.contracts, "
            "t.contract_total = t.contract_total + s.contract_total WHEN NOT MATCHED THEN INSERT *"
        ).collect()
        first, last = year_of(clock)
        in_year_df = self._read(self._days).where(F.col("day").between(f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}"))
        result_df = in_year_df.groupBy("agent_id").agg(
            F.sum("contracts").alias("contracts"),
            F.sum("contract_total").cast("decimal(38,4)").alias("contract_total"),
        )
        result_df.write.format("delta").mode("overwrite").save(self._result)
        self._done = version

    def rows(self, mart: str) -> DataFrame:
        return self._read(self._result)

    def _read(self, path: str) -> DataFrame:
        return self._spark.read.format("delta").load(path)

    def _version(self) -> int:
        newest = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._sales}` LIMIT 1").collect()
        return int(newest[0]["version"])


def newest_sales(events_df: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """Of every sale the newest known value of each column, of those set after its newest delete.

    Returns:
        sale_id, was_deleted (the events have a delete), is_deleted (and nothing after it), the columns.
    """
    is_change = F.col("op") != "d"
    newest = [
        F.max(F.when(is_change & F.col(name).isNotNull(), F.struct("event_order", F.col(name).alias("value")))).alias(
            name
        )
        for name in columns
    ]
    sales_df = events_df.groupBy("sale_id").agg(
        F.max(F.when(~is_change, F.col("event_order"))).alias("deleted_order"),
        F.max(F.when(is_change, F.col("event_order"))).alias("row_order"),
        *newest,
    )

    def is_live(order: Column) -> Column:
        return F.coalesce(order > F.coalesce("deleted_order", F.lit("")), F.lit(False))

    values = [F.when(is_live(F.col(f"{n}.event_order")), F.col(f"{n}.value")).alias(n) for n in columns]
    return sales_df.select(
        "sale_id",
        F.col("deleted_order").isNotNull().alias("was_deleted"),
        (~is_live(F.col("row_order"))).alias("is_deleted"),
        *values,
    )


def contracts_of_year(sales_df: DataFrame, clock: datetime) -> DataFrame:
    """The mart by its definition: contracts and their total per agent over the year that ends with the clock's day."""
    first, last = year_of(clock)
    signed_at = F.col("contract_signing_date")
    in_year_df = sales_df.where((signed_at >= F.lit(first)) & (signed_at < F.lit(last + timedelta(days=1))))
    return in_year_df.groupBy("agent_id").agg(
        F.count(F.lit(1)).alias("contracts"),
        F.coalesce(F.sum("contract_subtotal"), F.lit(0)).cast("decimal(38,4)").alias("contract_total"),
    )


def year_of(clock: datetime) -> tuple[datetime, datetime]:
    """First and last day of the year that ends with the clock's day, at midnight in UTC; no clock is a 29 February."""
    last = clock.replace(hour=0, minute=0, second=0, microsecond=0)
    return last.replace(year=last.year - 1) + timedelta(days=1), last


def _agent_days(sales_df: DataFrame) -> DataFrame:
    """agent_id, day, contracts and contract_total of signed sales, each counted ``sign`` times."""
    day = F.date_format("contract_signing_date", "yyyy-MM-dd").alias("day")
    amount = F.coalesce("contract_subtotal", F.lit(0).cast("decimal(18,4)")) * F.col("sign").cast("decimal(1,0)")
    return (
        sales_df.where("contract_signing_date IS NOT NULL")
        .groupBy("agent_id", day)
        .agg(
            F.sum("sign").cast("bigint").alias("contracts"),
            F.sum(amount).cast("decimal(38,4)").alias("contract_total"),
        )
    )


def _write(lake: HistoryLake, rows_df: DataFrame, path: str) -> None:
    with wide(lake.spark, lake.history):
        rows_df.write.mode("overwrite").parquet(path)
