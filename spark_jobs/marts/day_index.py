"""In which partitions of the log the events of some keys are, so that a mart of keys does not read the others.

A scoped mart that reads the log by a column of it, such as a sale, needs every event of the sales that were touched.
The log is partitioned by days, so all of it would be read. The days of each key are kept in an index beside the lake
(:mod:`spark_jobs.storage.segment_index`): brought up to date from the log's timeline by whoever looks something up,
built again when it cannot be, and merged by the same service as the row index. A day too many costs time alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.instants import Instant, InstantRange
from spark_jobs.contracts.packed_rows import KEY_HASH, PACKED
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lake_specs import read_kept
from spark_jobs.storage.layouts import EVENT_DATE
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.segment_index import SegmentIndex, day_index_name
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.kept_columns import kept_here

LEAST_DAYS = 45
"""With fewer partitions of the log, reading all of them takes no longer than looking days up."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DAYS = "days array<string>"

log = logging.getLogger(__name__)


def day_index(column: str, spec: LakeSpec, settings: Settings) -> SegmentIndex:
    """The index of the days on which the log has events of each value of ``column``."""
    name, form = day_index_name(spec, column), {spec.log: [column, EVENT_DATE]}
    return SegmentIndex(name, form, settings, pack=lambda _, log_df: _pack(log_df, column), merge=_merge)


def day_index_lease(column: str, spec: LakeSpec) -> str:
    """The lease of whoever changes that index, or reads it."""
    return f"{spec.log}.{column}.days"


def indexed_columns(spec: LakeSpec) -> set[str]:
    """The columns by which marts of the lake read the log."""
    reads = (read for mart in spec.marts for read in mart.reads if read.table == spec.log)
    return {column for read in reads if (column := _column_of(read, spec))}


def days_of(context: AnyContext, read: ReadSpec, up_to: Instant, values_df: DataFrame) -> Sequence[str] | None:
    """The days on which the log has events of some values, up to an instant; None when all have to be read.

    Args:
        context: of the run.
        read: how the mart reads the log.
        up_to: the instant as of which it does.
        values_df: one column, the distinct values of the scope of ``read``, pinned; none of them null.

    Raises:
        TableBusyError: another process works on the index for too long.
        DamagedIndexError: a file of the index is damaged.
    """
    spec, settings = context.spec, context.settings
    column, path = _column_of(read, spec), settings.table_path(spec.log)
    if not column or len(Filesystem(path).folders()) < LEAST_DAYS:
        return None
    with hold_tables([day_index_lease(column, spec)], job=context.job, settings=settings):
        timeline = Timeline(table=spec.log, path=path)
        kept = {each.name for each in kept_here(spec.source.columns, read_kept(timeline))}
        if timeline.pending_writes or column in kept:  # a kept value shows without a commit, once it is declared
            return None
        index = day_index(column, spec, settings)
        index.catch_up(values_df.sparkSession, {spec.log: timeline})
        indexed = index.instant_of(spec.log)
        if timeline.changes_in(InstantRange(after=indexed, up_to=max(up_to, indexed))):
            return None
        packed_df = index.find(values_df.select(_hash_of(F.col(values_df.columns[0]))))
        if packed_df is None:
            return ()
        with index.trusted():
            found = packed_df.select(F.explode(F.from_json(PACKED, _DAYS)["days"]).alias("day")).distinct().collect()
    log.info("%s: events of these values of %s are on %d days", spec.log, column, len(found))
    return sorted(row["day"] for row in found)


def _column_of(read: ReadSpec, spec: LakeSpec) -> str:
    """The column by which the log is read, when its text is the same in every event; else ""."""
    if read.table != spec.log or not _NAME.fullmatch(read.scope or ""):
        return ""
    column = spec.columns_by_name.get(read.scope or "")
    return column.name if column and column.type in (ColumnType.BIGINT, ColumnType.STRING) else ""


def _hash_of(value: Column) -> Column:
    return F.xxhash64(value.cast("string")).alias(KEY_HASH)


def _pack(log_df: DataFrame, column: str) -> DataFrame:
    days_df = log_df.where(F.col(column).isNotNull()).groupBy(_hash_of(F.col(column)))
    return _packed(days_df.agg(F.collect_set(F.col(EVENT_DATE).cast("string")).alias("days")))


def _merge(packed_df: DataFrame) -> DataFrame:
    """Days of hashes, of several rows of each."""
    days_df = packed_df.select(F.from_json(PACKED, f"{KEY_HASH} bigint, {_DAYS}").alias("row")).select("row.*")
    exploded_df = days_df.select(KEY_HASH, F.explode("days").alias("day"))
    return _packed(exploded_df.groupBy(KEY_HASH).agg(F.collect_set("day").alias("days")))


def _packed(days_df: DataFrame) -> DataFrame:
    return days_df.select(KEY_HASH, F.to_json(F.struct(KEY_HASH, F.sort_array("days").alias("days"))).alias(PACKED))
