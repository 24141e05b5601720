"""Mode scoped: the scopes that were touched are computed again, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.frames import union
from spark_jobs.lake_spec.versions import key_columns
from spark_jobs.marts.day_index import days_of
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.mode import WrittenAlone
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.rule_versions import rule_notes, versions_of
from spark_jobs.marts.scopes import (
    SCOPE,
    Scopes,
    changed_scopes,
    entering_scopes,
    folders_of,
    gather,
    partitions_of,
    ranges_of,
    scope_of,
    scopes_of,
    scopes_of_interval,
    windows,
)
from spark_jobs.marts.sources import Source
from spark_jobs.marts.versions import KEY, OfKeys
from spark_jobs.marts.windows import TimeRange
from spark_jobs.sql_analysis.mart_sql_columns import lookup_key
from spark_jobs.sql_analysis.mart_sql_text import names_in
from spark_jobs.storage.layouts import partition_of
from spark_jobs.transforms.cells import with_cell_id


class Scoped(WrittenAlone):
    """Anything that stays inside a scope: a key, an hour, a month. The dates of an interval are scopes like others."""

    def write(self, refresh: Refresh, why_full: str) -> TableOutcome:
        """Commit the rows of touched scopes that differ."""
        difference_df = scoped_full_difference(refresh) if why_full else scoped_difference(refresh)
        if difference_df is None:
            return refresh.unchanged()
        return refresh.write(difference_df, rule_notes(refresh, difference_df) if refresh.mart.rules else {})

    def range_difference(self, refresh: Refresh, interval: Interval) -> DataFrame | None:
        """What computing the scopes of these dates again would change; None when there are none."""
        if any(source.is_absent for source in refresh.sources):
            return None
        window, _ = windows(refresh)
        scopes = gather(refresh, scopes_of_interval(refresh, interval), window)
        return recompute(refresh, scopes, None) if scopes.count else None

    def whole_difference(self, engine: Engine, refresh: Refresh, stack: ExitStack) -> DataFrame:
        """Every scope; of the window alone, when the mart has one."""
        return scoped_full_difference(refresh)

    def is_due(self, refresh: Refresh) -> bool:
        """Dates are computed again whatever is new."""
        return refresh.context.interval is not None or super().is_due(refresh)


def scoped_difference(refresh: Refresh) -> DataFrame | None:
    """Compute the touched scopes again; None when no scope was touched and the window stayed where it is."""
    window, before = windows(refresh)
    parts = list(changed_scopes(refresh, window))
    if window and window != before and refresh.mart.time:
        parts.append(entering_scopes(refresh, window, before, refresh.mart.time.unit))
    if refresh.context.interval:
        parts += scopes_of_interval(refresh, refresh.context.interval)
    scopes = gather(refresh, parts, window)
    return recompute(refresh, scopes, window) if scopes.count or window != before else None


def scoped_full_difference(refresh: Refresh) -> DataFrame:
    """Compute every scope again; of the window alone, when the mart has one."""
    window, _ = windows(refresh)
    if window is None and not refresh.mart.rules:
        return refresh.difference(_compute(refresh, None), refresh.stored())
    scoped = [source for source in refresh.sources if source.read.scope]
    scopes = gather(refresh, (scopes_of(refresh, s.read, s.snapshot(refresh.views)) for s in scoped), window)
    return refresh.difference(_compute(refresh, scopes), refresh.stored())


def recompute(refresh: Refresh, scopes: Scopes, window: TimeRange | None) -> DataFrame:
    """Compute these scopes again and compare them with what is stored of them; what left the window goes."""
    is_by_scope = window is None and refresh.mart.scope == refresh.mart.partition
    stored_df = refresh.stored(folders_of(scopes.few, refresh.mart.partition) if is_by_scope else None)
    if stored_df is not None:
        scope = F.col(refresh.mart.scope)
        inside_df = scopes.keep(stored_df, scope)
        outside = None if window is None else ~window.holds(scope)
        stored_df = inside_df if outside is None else inside_df.unionByName(stored_df.where(outside))
    return refresh.difference(_compute(refresh, scopes), stored_df)


def _compute(refresh: Refresh, scopes: Scopes | None) -> DataFrame:
    """The mart's rows in these scopes; None is all of them."""
    scoped = {source.table: _rows_of(refresh, source, scopes) for source in refresh.sources if source.read.scope}
    tables = dict(scoped)
    for lookup in (source for source in refresh.sources if source.read.by):
        of_keys = None if scopes is None else _pointed_to(refresh, lookup, [*scoped.values()])
        tables[lookup.table] = lookup.snapshot(refresh.views, of_keys=of_keys)
    months = None
    if refresh.mart.rules and scopes is not None:
        months = versions_of(refresh, [str(value) for value in scopes.values() if value is not None])
    return with_cell_id(refresh.select(tables, months), refresh.mart.grain)


def _rows_of(refresh: Refresh, source: Source, scopes: Scopes | None) -> DataFrame:
    """The rows of a scoped read in these scopes."""
    if scopes is None:
        return source.snapshot(refresh.views)
    read, scope = source.read, scope_of(source.read, refresh.context.spec)
    partition = partition_of(source.stored, refresh.context.spec)
    partitions = partitions_of(scopes, read, refresh.mart, refresh.context.spec, partition)
    if partitions is None:
        partitions = ranges_of(scopes, source, refresh.mart, refresh.context.spec)
    if partitions is None and scopes.is_known:
        partitions = days_of(refresh.context, read, source.up_to, scopes.rows_df.select(SCOPE))
    table = refresh.context.spec.versions_of(read.table)
    of_keys = partial(scopes.keep, scope=scope) if table and names_in(read.scope) <= {*key_columns(table)} else None
    return scopes.keep(source.snapshot(refresh.views, partitions, of_keys=of_keys), scope)


def _pointed_to(refresh: Refresh, lookup: Source, scoped: Sequence[DataFrame]) -> OfKeys | None:
    """Of versions that are looked up: keeps the events of keys that the scoped rows name."""
    if refresh.context.spec.versions_of(lookup.table) is None:
        return None
    by, key = lookup.read.by, lookup_key(refresh.context.spec, lookup.table)
    named = [rows_df.select(F.col(by).alias(KEY)) for rows_df in scoped if by in rows_df.columns]
    keys_df = union(named).distinct()
    return lambda events_df: events_df.join(keys_df, F.col(key) == F.col(KEY), "left_semi")
