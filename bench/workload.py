"""Workload W1: six tables of a lake, and random changes of some of their rows, made of expressions alone.

Nothing is drawn at random: every value is a hash of its row number and round, so two runs see the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.frames import constant_column
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER, TableSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.sizing.files import MB
from spark_jobs.sizing.weights import load_weights
from spark_jobs.transforms.column_orders import order_column, table_columns
from spark_jobs.transforms.keyed_rows import DELETED_ORDER

ROWS = {"units": 50_000, "buildings": 500, "projects": 50, "statuses": 12, "agents": 2_000, "sales": 1_000_000}
CHANGES = {"units": 4_000, "buildings": 167, "projects": 17, "statuses": 4, "agents": 667, "sales": 10_000}
EVENTS = 10_000
W1_AIMS = {"Iceberg MERGE, merge-on-read": 0.5, "Delta MERGE, deletion vectors": 0.12, "Parquet append": 2.0}
SLOWEST_AIM = 1.3
_HISTORY = 1_000_000_000
"""Stored rows were set by changes numbered below this, those of the rounds above it."""


def in_buckets(table: TableSpec, rows: int, spec: LakeSpec) -> TableSpec:
    """The table with as many buckets as the service rescale, as shipped, would give it for so many rows."""
    megabytes = rows * load_weights().tables[table.name].row_bytes / MB
    buckets = table.buckets
    while megabytes / buckets > spec.targets(table.name).bucket_mb:
        buckets *= 2
    return replace(table, buckets=buckets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """W1 with ``scale`` times the rows in every table, in buckets as rescale would make them, and as many changes.

    Of ``events`` a round. Their keys are drawn from all; with ``newest_of``, 95 of 100 from the newest ones, as many of
    each table as it would have with so many times the rows: tables of different sizes then have as many rows to change.
    """

    spec: LakeSpec
    scale: float = 1
    events: int = EVENTS
    newest_of: float | None = None

    def __post_init__(self) -> None:
        tables = tuple(in_buckets(table, self.row_count(table.name), self.spec) for table in self.tables)
        object.__setattr__(self, "spec", replace(self.spec, tables=tables, marts=()))

    @property
    def tables(self) -> tuple[TableSpec, ...]:
        """The six tables, as the lake spec declares them."""
        return tuple(table for table in self.spec.tables if table.name in ROWS)

    def row_count(self, table: str) -> int:
        """Rows of a table before the first round, which is also how many it has ever."""
        return _rows(table, self.scale)

    def stored_rows(self, spark: SparkSession, table: TableSpec) -> DataFrame:
        """The rows of a table before the first round: one change set most of them, an older one some columns."""
        number = F.col("id")
        newest = pick(_HISTORY, number, table.name)
        columns = [(number + 1).alias(table.key_column)]
        columns += [self._value(column, number, "stored").alias(column) for column in table.columns]
        for column in table.columns:
            is_older = pick(10, number, column) == 0
            columns.append(_order(F.when(is_older, newest / 2).otherwise(newest)).alias(order_column(column)))
        columns += [
            _order(newest).alias(ROW_ORDER),
            F.lit(None).cast("string").alias(DELETED_ORDER),
            F.lit(False).alias(IS_DELETED),
        ]
        rows_df = spark.range(self.row_count(table.name), numPartitions=2).select(*columns)
        return rows_df.select(*table_columns(table))

    def change_events(self, spark: SparkSession, round_number: int) -> DataFrame:
        """Events of one round as the log has them: op, event_order, and the columns of every table.

        One in twenty leaves columns unknown, one in thirty comes late: most of it is older than what is stored.
        """
        number, at = F.col("id"), F.col("at")
        seeds = {table: [pick(changes, number, at, table), at] for table, changes in CHANGES.items()}
        seeds["sales"] = [number, at, F.lit("sale_id")]
        keys = {table.key_column: self._key(table.name, *seeds[table.name]) for table in self.tables}
        is_partial, is_late = pick(20, number, at, "partial") == 0, pick(30, number, at, "late") == 0
        sequence = F.when(is_late, pick(_HISTORY, number, at)).otherwise(_HISTORY * (at + 1) + number)
        values = []
        for column in sorted({column for table in self.tables for column in table.columns} - set(keys)):
            is_unknown = is_partial & (pick(2, number, at, column) == 0)
            values.append(F.when(~is_unknown, self._value(column, number, at)).alias(column))
        keyed = [key.alias(name) for name, key in keys.items()]
        # Were the round a literal, each round's plan would be other code, which Java compiles while rounds are timed.
        round_df = constant_column(spark, [round_number], "at")
        events_df = spark.range(self.events, numPartitions=2).crossJoin(F.broadcast(round_df))
        return events_df.select(F.lit("c").alias("op"), _order(sequence).alias("event_order"), *keyed, *values)

    def changed_keys(self, spark: SparkSession, round_number: int) -> dict[str, int]:
        """How many different keys of each table the events of a round have."""
        counts = [F.countDistinct(table.key_column).alias(table.name) for table in self.tables]
        (row,) = self.change_events(spark, round_number).agg(*counts).collect()
        return {str(name): int(count) for name, count in row.asDict().items()}

    def _key(self, table: str, *seed: Column) -> Column:
        """A key of the table that the seed decides."""
        rows = self.row_count(table)
        if self.newest_of is None:
            return pick(rows, *seed) + 1
        newest = min(rows, _rows(table, self.newest_of))
        return F.when(pick(20, *seed, "recent") == 0, pick(rows, *seed) + 1).otherwise(rows - pick(newest, *seed))

    def _value(self, column: str, *seed: Column | str) -> Column:
        declared = self.spec.columns_by_name[column]
        number = pick(1_000_000, *seed, column)
        if declared.type is ColumnType.STRING:
            return F.concat(F.lit(f"{column} "), number.cast("string"))
        if declared.type is ColumnType.TIMESTAMP:
            return F.timestamp_seconds(number * 60 + 1_700_000_000)
        if declared.type is ColumnType.DECIMAL:
            return (number.cast("decimal(14,4)") / 7).cast(declared.sql_type)
        parents = {table.key_column: self.row_count(table.name) for table in self.tables}
        return pick(parents.get(column, 100_000), *seed, column) + 1


def _rows(table: str, scale: float) -> int:
    return max(1, round(ROWS[table] * scale))


def pick(size: int, *seed: Column | str) -> Column:
    """A number from 0 to below ``size`` that the seed decides."""
    parts = [F.lit(part) if isinstance(part, str) else part for part in seed]
    return F.pmod(F.xxhash64(*parts), F.lit(size)).cast("bigint")


def _order(sequence: Column) -> Column:
    """An event order like those of SQL Server: commit and change LSN, serial, hash; 48 + 1 + 16 characters."""
    lsn = F.lower(F.lpad(F.hex(sequence.cast("bigint")), 20, "0"))
    return F.concat(lsn, lsn, F.lit("00000002-"), F.substring(F.md5(lsn), 1, 16))
