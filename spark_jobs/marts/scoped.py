"""Mode scoped: the scopes that were touched are computed again, and nothing else."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.rule_versions import versions_of
from spark_jobs.marts.scopes import (
    Scopes,
    changed_scopes,
    entering_scopes,
    gather,
    partitions_of,
    scope_of,
    scopes_of,
    scopes_of_interval,
    windows,
)
from spark_jobs.marts.windows import TimeRange
from spark_jobs.storage.layouts import partition_of
from spark_jobs.transforms.cells import with_cell_id


def scoped_difference(refresh: Refresh) -> DataFrame | None:
    """Compute the touched scopes again; None when no scope was touched and the window stayed where it is."""
    window, before = windows(refresh)
    parts = list(changed_scopes(refresh, window))
    if window and window != before and refresh.mart.time:
        parts.append(entering_scopes(refresh, window, before, refresh.mart.time.unit))
    if refresh.arguments.interval:
        parts += scopes_of_interval(refresh, refresh.arguments.interval)
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
    stored_df = refresh.stored()
    if stored_df is not None:
        scope = F.col(refresh.mart.scope)
        inside_df = scopes.keep(stored_df, scope)
        outside = None if window is None else ~window.holds(scope)
        stored_df = inside_df if outside is None else inside_df.unionByName(stored_df.where(outside))
    return refresh.difference(_compute(refresh, scopes), stored_df)


def _compute(refresh: Refresh, scopes: Scopes | None) -> DataFrame:
    """The mart's rows in these scopes; None is all of them."""
    tables = {}
    for source in refresh.sources:
        read, partition = source.read, partition_of(source.table, refresh.spec)
        if scopes is None or not read.scope:
            tables[source.table] = source.snapshot(refresh.views)
            continue
        partitions = partitions_of(scopes, read, refresh.mart, refresh.spec, partition)
        tables[source.table] = scopes.keep(source.snapshot(refresh.views, partitions), scope_of(read, refresh.spec))
    months = None
    if refresh.mart.rules and scopes is not None:
        months = versions_of(refresh, [str(value) for value in scopes.values() if value is not None])
    return with_cell_id(refresh.select(tables, months), refresh.mart.grain)
