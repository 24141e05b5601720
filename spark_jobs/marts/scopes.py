"""Which scopes of a scoped mart have to be computed again."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from spark_jobs.contracts.arguments import Interval
from spark_jobs.frames import constant_column, counted_rows, literal_frame, union
from spark_jobs.lake_spec.marts import MartSpec, ReadSpec, TimeUnit
from spark_jobs.lake_spec.partitioning import NO_FOLDER, Transform
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import VALID
from spark_jobs.marts.definitions import DECLARED
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.sources import Changes, Source
from spark_jobs.marts.versions import FROM, KEY, TO, changed_spans
from spark_jobs.marts.windows import TimeRange, in_utc, interval_range, values_of, window_range
from spark_jobs.sql_analysis.mart_sql import expression_sql
from spark_jobs.sql_analysis.mart_sql_columns import lookup_key
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.transforms.row_partitions import range_of

SCOPE = "__scope"
_MOST_BROADCAST = 200_000
_MOST_LITERALS = 200
_MOST_SORTED = 100_000
_MOST_RANGES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Scopes:
    """Distinct scopes in the one column ``__scope``, pinned. ``few`` are their values, unless they are many.

    Of many whole numbers ``ranges`` hold them all, as the first and last of each, when that was found out: files
    without any of them need not be read then.
    """

    rows_df: DataFrame
    count: int
    few: tuple[Any, ...] | None
    ranges: tuple[tuple[int, int], ...] = ()
    is_known: bool = False
    """True when none of them is null, False when that was not found out."""

    def keep(self, rows_df: DataFrame, scope: Column) -> DataFrame:
        """Rows whose ``scope`` is among them; an unknown one (null) is a scope like others."""
        if self.few is not None:
            known = [F.lit(value) for value in self.few if value is not None]
            is_kept = scope.isin(*known) if known else F.lit(False)
            return rows_df.where(is_kept | scope.isNull() if None in self.few else is_kept)
        if self.ranges:
            is_inside = reduce(operator.or_, (scope.between(first, last) for first, last in self.ranges))
            rows_df = rows_df.where(scope.isNull() | is_inside)
        scopes_df = F.broadcast(self.rows_df) if self.count <= _MOST_BROADCAST else self.rows_df
        return rows_df.join(scopes_df, scope.eqNullSafe(F.col(SCOPE)), "left_semi")

    def each(self, value: Column, name: str) -> set[Any]:
        """What ``value`` is for them, as an expression over the column ``name`` that has a scope."""
        if self.few is None:
            found_df = self.rows_df.select(F.col(SCOPE).alias(name)).select(value).distinct()
        elif self.few:
            column_df = constant_column(self.rows_df.sparkSession, self.few, name)
            found_df = column_df.select(F.col(name).cast(self.rows_df.schema[SCOPE].dataType)).select(value)
        else:
            return set()
        return {row[0] for row in found_df.collect()}

    def values(self) -> Sequence[Any]:
        """All of them."""
        return self.few if self.few is not None else [row[0] for row in self.rows_df.collect()]


def gather(refresh: Refresh, parts: Iterable[DataFrame], window: TimeRange | None) -> Scopes:
    """The union of the parts, inside the window when there is one."""
    frames = list(parts)
    if not frames:
        return Scopes(rows_df=literal_frame(refresh.views.spark, [], f"{SCOPE} string"), count=0, few=())
    scopes_df = union(frames)
    if window is not None:
        scopes_df = scopes_df.where(window.holds(F.col(SCOPE)))
    pinned_df = refresh.views.pin(scopes_df.distinct(), "scopes")
    has_ranges = isinstance(pinned_df.schema[SCOPE].dataType, IntegralType)
    count, rows = counted_rows(pinned_df, max(_MOST_SORTED, _MOST_LITERALS) if has_ranges else _MOST_LITERALS)
    if rows is None:
        return Scopes(rows_df=pinned_df, count=count, few=None)
    values = tuple(in_utc(row[0]) for row in rows)
    is_known = None not in values
    if count <= _MOST_LITERALS:
        return Scopes(rows_df=pinned_df, count=count, few=values, is_known=is_known)
    ranges = cut_at_gaps(sorted(value for value in values if value is not None), _MOST_RANGES)
    return Scopes(rows_df=pinned_df, count=count, few=None, ranges=ranges, is_known=is_known)


def cut_at_gaps(values: Sequence[int], most: int) -> tuple[tuple[int, int], ...]:
    """At most so many ranges that hold the sorted ``values``, and as few other numbers as can be."""
    gaps = sorted(range(1, len(values)), key=lambda place: values[place - 1] - values[place])
    cuts = sorted(place for place in gaps[: most - 1] if values[place] - values[place - 1] > 1)
    places = [0, *cuts, len(values)]
    return tuple((values[first], values[end - 1]) for first, end in pairwise(places) if first < end)


def scope_of(read: ReadSpec, spec: LakeSpec) -> Column:
    """The scope a row of a scoped read belongs to."""
    return F.expr(expression_sql(read.scope, time_zone=spec.time_zone))


def scopes_of(refresh: Refresh, read: ReadSpec, rows_df: DataFrame) -> DataFrame:
    """The scopes of rows of a scoped read."""
    return rows_df.select(scope_of(read, refresh.context.spec).alias(SCOPE)).distinct()


def changed_scopes(refresh: Refresh, window: TimeRange | None) -> Iterator[DataFrame]:
    """Scopes of what is new: of changed rows as they were and are, and of rows that look a changed one up."""
    for source in refresh.sources:
        if not source.has_moved:
            continue
        changes = source.changes(refresh.views, refresh.query)
        if source.read.scope:
            yield scopes_of(refresh, source.read, changes.both_df)
        else:
            yield from _scopes_looking_up(refresh, source, changes, window)


def entering_scopes(refresh: Refresh, window: TimeRange, before: TimeRange | None, unit: TimeUnit) -> DataFrame:
    """Scopes of the window that were not in the one before."""
    known = set(values_of(before, unit)) if before else set()
    values = [value for value in values_of(window, unit) if value not in known]
    return refresh.views.spark.range(1).select(F.explode(F.array(*map(F.lit, values))).alias(SCOPE))


def scopes_of_interval(refresh: Refresh, interval: Interval) -> Iterator[DataFrame]:
    """Scopes that a backfill names: those of the log's events of these dates, or of the mart's own time."""
    mart = refresh.mart
    for source in refresh.sources:
        if source.table == refresh.context.spec.log and source.read.scope:
            dates = values_of(interval_range(interval, TimeUnit.DAY), TimeUnit.DAY)
            yield scopes_of(refresh, source.read, source.snapshot(refresh.views, dates))
        elif source.read.scope and mart.time and mart.time.column == mart.scope:
            range_ = interval_range(interval, mart.time.unit)
            yield scopes_in_range(refresh, source, range_)
    stored_df = refresh.stored()
    if stored_df is not None and mart.time:
        held_df = stored_df.where(interval_range(interval, mart.time.unit).holds(F.col(mart.time.column)))
        yield held_df.select(F.col(mart.scope).alias(SCOPE)).distinct()


def scopes_in_range(refresh: Refresh, source: Source, range_: TimeRange) -> DataFrame:
    """Scopes of a source's rows in a range of time."""
    scopes_df = scopes_of(refresh, source.read, source.snapshot(refresh.views))
    return scopes_df.where(range_.holds(F.col(SCOPE)))


def windows(refresh: Refresh) -> tuple[TimeRange | None, TimeRange | None]:
    """The mart's window at the run's clock, and the one it was last brought to."""
    mart, before = refresh.mart, refresh.previous_clock
    if mart.window is None or mart.time is None:
        return None, None
    zone, unit = refresh.context.spec.time_zone, mart.time.unit
    now = window_range(mart.window, refresh.clock, zone, unit=unit)
    return now, window_range(mart.window, before, zone, unit=unit) if before else None


def partitions_of(
    scopes: Scopes, read: ReadSpec, mart: MartSpec, spec: LakeSpec, partition: str
) -> Sequence[str] | None:
    """The partitions of the table (by its column ``partition``) that can hold rows of the scopes; None for all."""
    if partition and partition in (read.scope, read.partition):
        found = list(scopes.values())
    elif read.partition:
        value = F.expr(expression_sql(read.partition, time_zone=spec.time_zone))
        found = list(scopes.each(value, mart.scope))
    else:
        return None
    is_named = all(value is not None and not re.search(NO_FOLDER, str(value)) for value in found)
    return sorted(found) if is_named else None


def folders_of(values: Sequence[Any] | None, partition: str) -> Sequence[str] | None:
    """The folders (``column=value``) with all rows that have one of these values of the partition column.

    None for all of the table: they are known of texts; which of them are no plain names the reader sees.
    """
    if not partition or values is None or not all(isinstance(value, str) for value in values):
        return None
    return [f"{partition}={value}" for value in values]


def ranges_of(scopes: Scopes, source: Source, mart: MartSpec, spec: LakeSpec) -> Sequence[str] | None:
    """The partitions of a table by ranges of the scope itself that can hold rows of the scopes; None for all.

    The rows are where the definition put them that they were committed by: by another one nothing is left out.
    """
    table = spec.find_table(source.stored)
    if table is None or table.transform is not Transform.TRUNCATE:
        return None
    column = table.column_name(table.partition) if table.is_mirror else table.partition
    declared = source.timeline.newest_metadata(METADATA_PREFIX + DECLARED, up_to=source.up_to) or "{}"
    if source.read.scope != column or json.loads(declared).get("partition") != table.partitioned_by:
        return None
    return sorted(scopes.each(range_of(F.col(mart.scope).cast("string"), table), mart.scope))


def _scopes_looking_up(
    refresh: Refresh, lookup: Source, changes: Changes, window: TimeRange | None
) -> Iterator[DataFrame]:
    """Scopes of rows that point to a row of the lookup that changed.

    With a moment, only of those whose moment falls where the values of its versions have changed.
    """
    key, at = lookup_key(refresh.context.spec, lookup.table), lookup.read.at
    is_pointing = F.col(lookup.read.by) == F.col(KEY)
    if at and changes.left_df is not None:
        used = refresh.query.used_columns(lookup.table, changes.came_df.columns) - {*VALID}
        keys_df = changed_spans(changes.came_df, changes.left_df, key, sorted(used))
        is_pointing &= (F.col(at) >= F.col(FROM)) & (F.col(TO).isNull() | (F.col(at) < F.col(TO)))
    else:
        keys_df = changes.both_df.select(F.col(key).alias(KEY)).distinct()
    for source in refresh.sources:
        if not source.read.scope:
            continue
        rows_df = source.snapshot(refresh.views)
        if window is not None:
            rows_df = rows_df.where(window.holds(scope_of(source.read, refresh.context.spec)))
        if {*filter(None, (lookup.read.by, at))} <= {*rows_df.columns}:
            pointing_df = rows_df.join(F.broadcast(keys_df), is_pointing, "left_semi")
            yield scopes_of(refresh, source.read, pointing_df)
