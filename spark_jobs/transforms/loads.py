"""Rows of a load on their way into its table: their keys, and what becomes of each of them."""

from __future__ import annotations

import operator
from datetime import datetime
from enum import StrEnum
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.contracts.rejections import Reason
from spark_jobs.lake_spec.loads import LoadOperation, LoadSpec
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.transforms.cells import with_cell_id
from spark_jobs.transforms.quarantine import with_states

FATE = "__fate"
_FILE, _AT, _READ_FROM = "__file", "__at", "__read_from"
_REASON, _DETAIL, _RAW = "__reason", "__detail", "__raw"
_RULES, _STORED, _GROUP = "__rules", "__stored", "__group"


class Fate(StrEnum):
    """What becomes of a row of a file."""

    WRITTEN = "written"
    REJECTED = "rejected"
    REPEATED = "repeated"
    """A later row of the same load has its key."""
    NEEDLESS = "needless"
    """The table has the key already; of keys to delete, it has it not."""


def is_usable() -> Column:
    """True for rows that fit their columns."""
    return F.col(_REASON).isNull()


def is_set_aside() -> Column:
    """True for rows that were rejected because they break a rule."""
    return F.col(_REASON).eqNullSafe(Reason.BROKEN_RULE.value)


def has_fate(fate: Fate) -> Column:
    """True for rows with which this is done."""
    return F.col(FATE) == fate.value


def with_keys(rows_df: DataFrame, load: LoadSpec) -> DataFrame:
    """Rows with the columns that only the table has: ``cell_id``, text that is the key, and the partition's day."""
    if load.partition_column != load.partition:
        day = F.date_format(load.partition, "yyyy-MM-dd")
        rows_df = rows_df.withColumn(load.partition_column, day)
    return with_cell_id(rows_df, load.key) if load.record_key == CELL_ID else rows_df


def set_aside(rows_df: DataFrame, broken_rules: Column) -> DataFrame:
    """Usable rows that break rules (``broken_rules``, an array of names, says which) become rejected ones."""
    is_broken = is_usable() & (F.size(_RULES) > 0)
    columns = {
        _REASON: F.when(is_broken, F.lit(Reason.BROKEN_RULE.value)).otherwise(F.col(_REASON)),
        _DETAIL: F.when(is_broken, F.concat_ws(", ", _RULES)).otherwise(F.col(_DETAIL)),
    }
    return rows_df.withColumn(_RULES, broken_rules).withColumns(columns).drop(_RULES)


def with_fates(rows_df: DataFrame, load: LoadSpec, operation: LoadOperation, stored_df: DataFrame | None) -> DataFrame:
    """Every row with its :class:`Fate` as ``__fate``.

    Args:
        rows_df: what :func:`with_keys` gives.
        load: the table.
        operation: what is to be done with the rows.
        stored_df: the record keys that the table has; None when it has none. Looked at only where it matters.
    """
    place = F.concat_ws(":", _FILE, _AT)  # rejected rows have no key, and must not all go to one bucket
    rows_df = rows_df.withColumn(_GROUP, F.when(is_usable(), F.col(load.record_key).cast("string")).otherwise(place))
    of_key = Window.partitionBy(is_usable(), _GROUP)
    position = F.struct(_FILE, _AT)
    is_repeated = position < F.max(position).over(of_key)
    rows_df = rows_df.withColumn(FATE, F.when(is_repeated, Fate.REPEATED.value).otherwise(Fate.WRITTEN.value))
    is_needless = F.lit(False)
    if operation.looks_up:
        is_stored = F.lit(False)
        if stored_df is not None:
            known_df = stored_df.select(load.record_key).withColumn(_STORED, F.lit(True))
            rows_df, is_stored = rows_df.join(known_df, load.record_key, "left"), F.col(_STORED).isNotNull()
        is_needless = ~is_stored if operation is LoadOperation.DELETE else is_stored
    needless = F.when(has_fate(Fate.WRITTEN) & is_needless, Fate.NEEDLESS.value).otherwise(F.col(FATE))
    fate = F.when(is_usable(), needless).otherwise(Fate.REJECTED.value)
    return rows_df.withColumn(FATE, fate).drop(_GROUP, _STORED)


def select_rows(rows_df: DataFrame, load: LoadSpec) -> DataFrame:
    """The rows whose ``__fate`` is written, with the table's columns."""
    key = () if load.record_key in load.shown_columns else (load.record_key,)
    return rows_df.where(has_fate(Fate.WRITTEN)).select(*key, *load.shown_columns)


def to_changes(rows_df: DataFrame, stored_df: DataFrame, load: LoadSpec, *, is_delete: bool) -> DataFrame:
    """``before`` and ``after`` of the rows that differ once these are written, as readers see them.

    Args:
        rows_df: what :func:`select_rows` gives.
        stored_df: the table's rows, with its own columns; one it lacks counts as null.
        load: the table.
        is_delete: the rows are taken out.
    """
    columns, stored = load.shown_columns, set(stored_df.columns)
    types = {field.name: field.dataType for field in rows_df.schema.fields}
    before = [(F.col(name) if name in stored else F.lit(None).cast(types[name])).alias(name) for name in columns]
    before_df = stored_df.select(F.struct(*before).alias(BEFORE))
    after_df = rows_df.select(F.struct(*columns).alias(AFTER))
    is_same_row = reduce(operator.and_, [F.col(f"{BEFORE}.{key}") == F.col(f"{AFTER}.{key}") for key in load.key])
    both_df = after_df.join(before_df, is_same_row, "left")
    if is_delete:
        nothing = F.lit(None).cast(after_df.schema[AFTER].dataType).alias(AFTER)
        return both_df.where(F.col(BEFORE).isNotNull()).select(BEFORE, nothing)
    return both_df.where(~F.col(BEFORE).eqNullSafe(F.col(AFTER))).select(BEFORE, AFTER)


def select_rejections(rows_df: DataFrame, load: LoadSpec, clock: datetime) -> DataFrame:
    """Rejected rows as rows of the quarantine, one for each content; ``detail`` names the table and the reason."""
    detail = F.concat(F.lit(f"{load.name}: "), F.col(_REASON), F.lit(": "), F.col(_DETAIL)).alias("detail")
    rejected_df = rows_df.where(has_fate(Fate.REJECTED)).withColumn("record_hash", F.sha2(F.col(_RAW), 256))
    first = F.min(F.struct(_FILE, _AT, _READ_FROM, detail, _RAW)).alias("first")
    found_df = rejected_df.groupBy("record_hash").agg(first)
    rows_df = found_df.select(
        "record_hash",
        F.lit(Reason.BROKEN_ROW.value).alias("reason"),
        F.col("first.detail").alias("detail"),
        F.col(f"first.{_RAW}").alias("raw"),
        F.col(f"first.{_READ_FROM}").alias("read_from"),
        F.col(f"first.{_AT}").alias("read_offset"),
        F.lit(clock).alias("ingest_time"),
    )
    return with_states(rows_df)
