"""What is timed: our own path and four others, each holding its own copy of the six tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.contexts import split_context
from bench.workload import Workload
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER, TableSpec
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.index_service import index_need, merge_indexes
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.options import build_write_options
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.transforms.column_orders import order_column, table_columns
from spark_jobs.transforms.keyed_rows import DELETED_ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender(ABC):
    """One way to keep the tables; ``settings`` says where, ``name`` what it is called in the report."""

    name: str
    spark: SparkSession
    workload: Workload
    settings: Settings

    @abstractmethod
    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        """Write the rows of a table that does not exist yet."""

    @abstractmethod
    def change_all(self, events_df: DataFrame) -> None:
        """Bring every table up to the events, side by side."""

    @abstractmethod
    def rows(self, table: TableSpec) -> DataFrame | None:
        """What the table holds now; None when it does not keep the rule."""

    def maintain(self) -> None:
        """Do what has to be done between rounds, now and then, so that the next ones take no longer."""
        return

    def side_by_side(self, act: Callable[[TableSpec], object]) -> None:
        """Do it for every table at the same time."""
        with ThreadPoolExecutor(self.settings.write_threads) as threads:
            list(threads.map(act, self.workload.tables))

    def path(self, table: TableSpec) -> str:
        """The folder of a table."""
        return self.settings.table_path(table.name)


class TableByTable(Contender):
    """A contender that knows how to bring one table up to the events."""

    @abstractmethod
    def change(self, table: TableSpec, events_df: DataFrame) -> None:
        """Bring one table up to the events."""

    def change_all(self, events_df: DataFrame) -> None:
        self.side_by_side(lambda table: self.change(table, events_df))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours(Contender):
    """The product's own code, from the events to the last commit read back."""

    table_type: ClassVar[TableType] = TableType.MERGE_ON_READ

    @property
    def spec(self) -> LakeSpec:
        """The lake with tables of this contender's type."""
        tables = tuple(replace(table, type=self.table_type) for table in self.workload.tables)
        return replace(self.workload.spec, tables=tables)

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        layout = table_layout(self.spec.table(table.name))
        options = build_write_options(layout, parallelism=self.settings.shuffle_partitions, is_first=True)
        rows_df.write.format("hudi").options(**options).mode("append").save(self.path(table))

    def change_all(self, events_df: DataFrame) -> None:
        spec = self.spec
        merge = Merge(context=split_context(self.spark, spec, self.settings), chosen=spec.tables)
        tables = merged_tables(spec, {})
        merge.merge_events(events_df, tables, tables, checkpoint="", count=self.workload.events)
        merge.merged.raise_failed()

    def maintain(self) -> None:
        """The service of the row index, when it is due. Compaction is not in the race, of any contender."""
        if (need := index_need(self.spec, self.settings)) and need.is_due:
            merge_indexes(split_context(self.spark, self.spec, self.settings), is_forced=False)

    def rows(self, table: TableSpec) -> DataFrame:
        return read_snapshot(self.spark, self.path(table))


@dataclass(frozen=True, slots=True, kw_only=True)
class OursCopyOnWrite(Ours):
    """The same with copy-on-write tables."""

    table_type: ClassVar[TableType] = TableType.COPY_ON_WRITE


class DefaultHudi(TableByTable):
    """Hudi as it comes, upserting rows that were merged with the stored ones beforehand."""

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        self._write(table, rows_df, operation="bulk_insert")

    def change(self, table: TableSpec, events_df: DataFrame) -> None:
        self._write(table, overlay(fold(events_df, table), self.rows(table), table), operation="upsert")

    def rows(self, table: TableSpec) -> DataFrame:
        return read_snapshot(self.spark, self.path(table))

    def _write(self, table: TableSpec, rows_df: DataFrame, *, operation: str) -> None:
        options = {
            "hoodie.table.name": table.name,
            "hoodie.datasource.write.recordkey.field": table.key_column,
            "hoodie.datasource.write.operation": operation,
        }
        rows_df.write.format("hudi").options(**options).mode("append").save(self.path(table))


class ParquetFloor(TableByTable):
    """The folded changes, appended as Parquet files: what any table format costs at least."""

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        """The floor keeps no rows."""

    def change(self, table: TableSpec, events_df: DataFrame) -> None:
        fold(events_df, table).write.mode("append").parquet(self.path(table))

    def rows(self, table: TableSpec) -> None:
        return None


class Iceberg(TableByTable):
    """Iceberg's MERGE INTO with the same rule for each column."""

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        rows_df.writeTo(self._table(table)).using("iceberg").create()

    def change(self, table: TableSpec, events_df: DataFrame) -> None:
        merge_into(self.spark, self._table(table), events_df, table)

    def rows(self, table: TableSpec) -> DataFrame:
        return self.spark.table(self._table(table))

    def _table(self, table: TableSpec) -> str:
        return f"iceberg.bench.{table.name}"


class Delta(TableByTable):
    """Delta's MERGE INTO with the same rule for each column."""

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        rows_df.write.format("delta").save(self.path(table))

    def change(self, table: TableSpec, events_df: DataFrame) -> None:
        merge_into(self.spark, f"delta.`{self.path(table)}`", events_df, table)

    def rows(self, table: TableSpec) -> DataFrame:
        return self.spark.read.format("delta").load(self.path(table))


class IcebergMergeOnRead(Iceberg):
    """Iceberg's MERGE INTO with files of deleted positions in place of rewritten ones."""

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        written = rows_df.writeTo(self._table(table)).using("iceberg").tableProperty("format-version", "2")
        written.tableProperty("write.merge.mode", "merge-on-read").create()

    def _table(self, table: TableSpec) -> str:
        return f"iceberg.bench_mor.{table.name}"


class DeltaDeletionVectors(Delta):
    """Delta's MERGE INTO with deletion vectors in place of rewritten files."""

    def load(self, table: TableSpec, rows_df: DataFrame) -> None:
        super().load(table, rows_df)
        target = f"delta.`{self.path(table)}`"
        self.spark.sql(f"ALTER TABLE {target} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")


def fold(events_df: DataFrame, table: TableSpec) -> DataFrame:
    """One row per key: of each column the newest value that is known, and its order. The workload has no deletes."""
    newest = [
        F.max(F.when(F.col(name).isNotNull(), F.struct("event_order", F.col(name).alias("value")))).alias(name)
        for name in table.columns
    ]
    folded_df = events_df.where(F.col(table.key_column).isNotNull()).groupBy(table.key_column)
    rows_df = folded_df.agg(*newest, F.max("event_order").alias(ROW_ORDER))
    columns = [F.col(name)["value"].alias(name) for name in table.columns]
    columns += [F.col(name)["event_order"].alias(order_column(name)) for name in table.columns]
    if table.follows_deletes:
        columns += [F.col(ROW_ORDER), F.lit(None).cast("string").alias(DELETED_ORDER), F.lit(False).alias(IS_DELETED)]
    return rows_df.select(table.key_column, *columns)


def overlay(rows_df: DataFrame, stored_df: DataFrame, table: TableSpec) -> DataFrame:
    """Folded rows, each column of which is the stored one's when that is newer."""
    both_df = rows_df.alias("s").join(stored_df.alias("t"), table.key_column, "left")
    columns = []
    for name in table.columns:
        order = order_column(name)
        is_newer = F.col(f"s.{order}") >= F.coalesce(f"t.{order}", f"s.{order}")
        columns += [F.when(is_newer, F.col(f"s.{n}")).otherwise(F.col(f"t.{n}")).alias(n) for n in (name, order)]
    if table.follows_deletes:
        columns += [
            F.greatest(f"s.{ROW_ORDER}", f"t.{ROW_ORDER}").alias(ROW_ORDER),
            F.col(f"s.{DELETED_ORDER}"),
            F.col(f"s.{IS_DELETED}"),
        ]
    return both_df.select(table.key_column, *columns).select(*table_columns(table))


def merge_into(spark: SparkSession, target: str, events_df: DataFrame, table: TableSpec) -> None:
    """MERGE the events, first folded to one row a key, into ``target`` with newest-wins for each column."""
    folded = f"bench_{table.name}"
    fold(events_df, table).createOrReplaceTempView(folded)
    spark.sql(
        f"MERGE INTO {target} t USING {folded} s ON t.{table.key_column} = s.{table.key_column} "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(_assignments(table))} WHEN NOT MATCHED THEN INSERT *"
    ).collect()


def _assignments(table: TableSpec) -> Iterator[str]:
    for column in table.columns:
        order = order_column(column)
        for name in (column, order):
            yield f"t.{name} = CASE WHEN s.{order} >= coalesce(t.{order}, s.{order}) THEN s.{name} ELSE t.{name} END"
    if table.follows_deletes:
        # The workload has no deletes, so the others need not know them.
        yield f"t.{ROW_ORDER} = greatest(s.{ROW_ORDER}, t.{ROW_ORDER})"
        yield f"t.{DELETED_ORDER} = t.{DELETED_ORDER}"
        yield f"t.{IS_DELETED} = t.{IS_DELETED}"


def fingerprint(rows_df: DataFrame, columns: Sequence[str]) -> tuple[int, int]:
    """Number of rows and a sum of their hashes: the same for the same rows in any order."""
    names = ", ".join(f"`{name}`" for name in columns)
    row = rows_df.selectExpr(f"xxhash64(to_json(struct({names}))) AS h").selectExpr(
        "count(*) AS n", "sum(cast(h AS decimal(38,0))) AS s"
    )
    first = row.first()
    return (int(first["n"]), int(first["s"] or 0)) if first else (0, 0)
