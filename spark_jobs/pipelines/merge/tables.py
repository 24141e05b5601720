"""The tables of a lake with the columns that they have now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.resolving import columns_of, resolve
from spark_jobs.lake_spec.schemas import Column, SchemaBook
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import ROW_KEY, Deletes, TableSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import tombstones_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.segment_index import FOLDER, SegmentIndex
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.keyed_rows import KEY, MergedTable, newest_rows, slot_names, width_of
from spark_jobs.transforms.packed import pack_rows, unpack_rows
from spark_jobs.transforms.row_orders import from_tombstones, to_tombstones
from spark_jobs.transforms.stored_rows import from_stored

ROWS_A_TASK = 500_000
"""Changed rows that a task of a merge folds and compares, from more of them on than the session cuts shuffles for."""


def merged_table(table: TableSpec, spec: LakeSpec, book: SchemaBook) -> MergedTable:
    """A table with its columns: as declared, or as the events of its source have shown so far."""
    if table.is_mirror:
        return MergedTable(spec=table, columns=columns_of(table, book), nulls=spec.nulls_of(table))
    types = {name: spec.columns_by_name[name].sql_type for name in (table.key_column, *table.columns)}
    names = (table.key_column, *table.columns) if table.has_row_order else table.columns
    columns = tuple(Column(source=name, name=name, type=types[name], added="", since="") for name in names)
    return MergedTable(spec=table, columns=columns, key_type=types[table.key_column], nulls=spec.nulls_of(table))


def merged_tables(spec: LakeSpec, book: SchemaBook) -> tuple[MergedTable, ...]:
    """All tables of the lake, with the tables at the source that they are made of by this book.

    It may know more of them than the spec was resolved by: no event of a shard may be left out that is read with it.
    """
    now = {table.name: table for table in resolve(spec, book).tables}
    return tuple(merged_table(now.get(table.name, table), spec, book) for table in spec.tables)


def targets_of(tables: Iterable[TableSpec]) -> list[str]:
    """What a merge into these tables writes, each with a checkpoint of its own: the tables, and their histories."""
    return [name for table in tables for name in (table.name, *((table.history_name,) if table.history else ()))]


def rows_an_event(tables: Sequence[MergedTable]) -> int:
    """How many keyed rows one event can become at most."""
    return max(Counter(origin for table in tables for origin in table.spec.origins or ("",)).values(), default=0)


def tasks_for(events: int, tables: Sequence[MergedTable]) -> int:
    """Into how many parts the merge of so many events is to be cut."""
    return ceil(events * rows_an_event(tables) / ROWS_A_TASK)


def build_index(spec: LakeSpec, tables: Sequence[MergedTable], settings: Settings) -> SegmentIndex:
    """The row index of tables of a lake; it may have rows of others, whose definition is not that of their rows."""
    by_name, width = {table.name: table for table in tables}, width_of(tables)

    def pack(name: str, rows_df: DataFrame) -> DataFrame:
        table, spark = by_name[name], rows_df.sparkSession
        keyed_df = from_stored(rows_df, table, width)
        for tombstones in spec.tombstones if table.spec.deletes is Deletes.REMOVE else ():
            path = settings.table_path(tombstones)
            if Timeline(table=tombstones, path=path).last:
                deleted_df = from_tombstones(read_snapshot(spark, path), name, width)
                # A run that died may have kept a delete that it did not carry out: the row is there as it was.
                there_df = read_snapshot(spark, settings.table_path(name)).select(F.col(ROW_KEY).alias(KEY))
                keyed_df = keyed_df.unionByName(deleted_df.join(there_df, KEY, "left_anti"))
        return pack_rows(keyed_df)

    def merge(packed_df: DataFrame) -> DataFrame:
        slots = slot_names(max(width, index.widest - 1))
        return pack_rows(newest_rows(unpack_rows(packed_df, slots)))

    columns = {table.name: table.index_columns for table in tables}
    index = SegmentIndex(spec.lake, columns, settings, pack=pack, merge=merge)
    return index


def keep_tombstones(
    spark: SparkSession, changed_df: DataFrame, tables: Sequence[MergedTable], spec: LakeSpec, settings: Settings
) -> list[str]:
    """What is about to be taken out of tables is kept first: that it was deleted must not be forgotten.

    Gives the names of the tables that it was written to.
    """
    removing, written = [table.name for table in tables if table.spec.deletes is Deletes.REMOVE], list[str]()
    for name in spec.tombstones if removing else ():
        with pinned(spark, to_tombstones(changed_df, removing), "tombstones") as tombstones_df:
            if tombstones_df.count():
                written.append(name)
                commit(tombstones_df, tombstones_layout(name), metadata={}, settings=settings)
    return written


def drop_old_index(spec: LakeSpec, settings: Settings) -> None:
    """Remove the index that mirrors had for themselves in earlier releases."""
    root = Filesystem(settings.table_path(FOLDER))
    if f"{spec.lake}.mirrors" in root.folders():
        root.delete_tree(f"{spec.lake}.mirrors")
