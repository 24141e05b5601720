"""A day's events kept by Iceberg: a log, tables by MERGE merge-on-read, and the maintenance that its pages advise."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.contenders import fold
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER, TableSpec
from spark_jobs.storage.layouts import EVENT_DATE
from spark_jobs.transforms.column_orders import order_column, table_columns
from spark_jobs.transforms.keyed_rows import DELETED_ORDER

NAMESPACE = "iceberg.day"
COMPACT_EVERY, EXPIRE_EVERY = 12, 72
"""Batches between two rewrites of data and delete files (an hour), and of manifests with expiry (six hours)."""
KEPT_BATCHES = 72
_MERGE_ON_READ = {
    "format-version": "2",
    "write.merge.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.delete.mode": "merge-on-read",
}
_REWRITE = "map('min-input-files', '5', 'delete-file-threshold', '5')"


@dataclass(kw_only=True)
class IcebergDay:
    """The log and the tables of a lake; a batch is appended, read from the log's new snapshot, and merged."""

    spark: SparkSession
    spec: LakeSpec
    threads: int
    committed: list[datetime] = field(default_factory=list)
    """When each batch was, by the clock of the snapshots."""
    _snapshot: int | None = None

    def make(self, events_df: DataFrame) -> None:
        """The log, with the columns of ``events_df``, and the tables, without a row."""
        none_df = events_df.limit(0)
        log = none_df.writeTo(self._name(self.spec.log)).using("iceberg").tableProperty("format-version", "2")
        log.partitionedBy(F.col(EVENT_DATE)).create()
        for table in self.spec.tables:
            rows_df = fold_with_deletes(none_df, table).select(*table_columns(table))
            written = rows_df.writeTo(self._name(table.name)).using("iceberg")
            for name, value in _MERGE_ON_READ.items():
                written = written.tableProperty(name, value)
            written.create()

    def take(self, events_df: DataFrame) -> None:
        """Commit a batch to the log, then what it changes to every table, side by side."""
        log, before = self._name(self.spec.log), self._snapshot
        events_df.writeTo(log).append()
        newest = self.spark.table(f"{log}.snapshots").orderBy(F.desc("committed_at")).select("snapshot_id").head()
        self._snapshot = newest["snapshot_id"] if newest else None
        reader = self.spark.read.format("iceberg").option("end-snapshot-id", str(self._snapshot))
        new_df = reader.option("start-snapshot-id", str(before)).load(log) if before else self.spark.table(log)
        wanted = {"op", "event_order"}
        wanted |= {name for table in self.spec.tables for name in (table.key_column, *table.columns)}
        new_df = new_df.select(*sorted(wanted)).cache()
        with ThreadPoolExecutor(self.threads) as threads:
            list(threads.map(lambda table: self.spark.sql(self._merge(new_df, table)).collect(), self.spec.tables))
        new_df.unpersist(blocking=True)
        self.committed.append(datetime.now(UTC))

    def maintain(self, *, is_last: bool) -> None:
        """What is due after a batch; files that no snapshot names are looked for once, at the end."""
        done = len(self.committed)
        names = [self.spec.log, *(table.name for table in self.spec.tables)]
        steps: list[str] = []
        if done % COMPACT_EVERY == 0:
            steps += ["rewrite_data_files(table => '{table}', options => " + _REWRITE + ")"]
            steps += ["rewrite_position_delete_files(table => '{table}')"]
        if done % EXPIRE_EVERY == 0 or is_last:
            kept = self.committed[max(done - 1 - KEPT_BATCHES, 0)].strftime("%Y-%m-%d %H:%M:%S.%f")
            steps += ["rewrite_manifests(table => '{table}')"]
            steps += [f"expire_snapshots(table => '{{table}}', older_than => TIMESTAMP '{kept}')"]
        if is_last:
            steps += ["remove_orphan_files(table => '{table}')"]

        def run(name: str) -> None:
            for step in steps:
                self.spark.sql(f"CALL iceberg.system.{step.format(table=f'day.{name}')}").collect()

        with ThreadPoolExecutor(self.threads) as threads:
            list(threads.map(run, names))

    def rows(self, table: str) -> DataFrame:
        """What a table, or the log, holds."""
        return self.spark.table(self._name(table))

    def data_files(self) -> int:
        """Files of data and of deleted positions that readers of the newest snapshots open."""
        names = [self.spec.log, *(table.name for table in self.spec.tables)]
        return sum(self.spark.table(f"{self._name(name)}.files").count() for name in names)

    def _merge(self, events_df: DataFrame, table: TableSpec) -> str:
        folded = f"day_{table.name}"
        fold_with_deletes(events_df, table).createOrReplaceTempView(folded)
        return merge_statement(self._name(table.name), folded, table)

    def _name(self, table: str) -> str:
        return f"{NAMESPACE}.{table}"


def fold_with_deletes(events_df: DataFrame, table: TableSpec) -> DataFrame:
    """One row per key, with :func:`table_columns`: newest known values, none that is older than the row's delete."""
    live_df = events_df.where(F.col("op") != "d")
    if not table.follows_deletes:
        return fold(live_df, table)
    key, is_live, order = F.col(table.key_column), F.col("op") != "d", F.col("event_order")
    newest = [
        F.max(F.when(is_live & F.col(name).isNotNull(), F.struct(order.alias("o"), F.col(name).alias("v")))).alias(name)
        for name in table.columns
    ]
    by_key = events_df.where(key.isNotNull()).groupBy(key)
    rows_df = by_key.agg(
        *newest,
        F.max(F.when(is_live, order)).alias(ROW_ORDER),
        F.max(F.when(~is_live, order)).alias(DELETED_ORDER),
    )

    def unless_deleted(value: Column, at: Column) -> Column:
        return F.when(F.col(DELETED_ORDER).isNull() | (at > F.col(DELETED_ORDER)), value)

    values = [unless_deleted(F.col(name)["v"], F.col(name)["o"]).alias(name) for name in table.columns]
    orders = [unless_deleted(F.col(name)["o"], F.col(name)["o"]).alias(order_column(name)) for name in table.columns]
    row_order = unless_deleted(F.col(ROW_ORDER), F.col(ROW_ORDER))
    return rows_df.select(
        table.key_column,
        *values,
        *orders,
        row_order.alias(ROW_ORDER),
        DELETED_ORDER,
        row_order.isNull().alias(IS_DELETED),
    )


def merge_statement(target: str, folded: str, table: TableSpec) -> str:
    """MERGE folded rows: newest wins for each column, nothing older than a delete stays; unchanged rows are left."""
    orders = [order_column(name) for name in table.columns]
    orders += [ROW_ORDER, DELETED_ORDER] if table.follows_deletes else []
    is_news = " OR ".join(f"s.{order} > coalesce(t.{order}, '')" for order in orders)
    updates = ", ".join(f"t.{name} = {value}" for name, value in merged_values(table))
    return (
        f"MERGE INTO {target} t USING {folded} s ON t.{table.key_column} = s.{table.key_column} "
        f"WHEN MATCHED AND ({is_news}) THEN UPDATE SET {updates} WHEN NOT MATCHED THEN INSERT *"
    )


def merged_values(table: TableSpec) -> Iterator[tuple[str, str]]:
    """Each column beside the key, and its value in SQL of a stored row ``t`` and a folded one ``s``."""
    deleted = f"greatest(s.{DELETED_ORDER}, t.{DELETED_ORDER})"

    def unless_deleted(value: str, order: str) -> str:
        if not table.follows_deletes:
            return value
        return f"CASE WHEN {deleted} IS NULL OR {order} > {deleted} THEN {value} END"

    for column in table.columns:
        order = order_column(column)
        newest = f"CASE WHEN s.{order} >= coalesce(t.{order}, s.{order}) THEN s.{column} ELSE t.{column} END"
        latest = f"greatest(s.{order}, t.{order})"
        yield column, unless_deleted(newest, latest)
        yield order, unless_deleted(latest, latest)
    if table.follows_deletes:
        row_order = f"greatest(s.{ROW_ORDER}, t.{ROW_ORDER})"
        yield ROW_ORDER, unless_deleted(row_order, row_order)
        yield DELETED_ORDER, deleted
        yield IS_DELETED, f"{unless_deleted(row_order, row_order)} IS NULL"
