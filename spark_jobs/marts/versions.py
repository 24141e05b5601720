"""Versions of a table's rows as marts read them: those at an instant, and those that are others at a later one.

They are found in the table's history (:mod:`spark_jobs.lake_spec.versions`), which only grows. So what changes them
between two instants is events of a few keys, however long ago these happened: the versions of these keys are found as
of both instants and compared. The rest of the history is looked at for its keys, and not sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import VALID, TableSpec
from spark_jobs.lake_spec.versions import history_columns, key_columns, versions_select
from spark_jobs.marts.views import Views
from spark_jobs.storage.reader import Pull, read_pull
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.timeline import Timeline

KEY, FROM, TO = "__key", "__from", "__to"
_STEP = "__step"
_MOST_BROADCAST = 200_000
OfKeys = Callable[[DataFrame], DataFrame]
"""Keeps of the events of a history those of some keys."""


def versions_at(
    instant: Instant,
    timeline: Timeline,
    table: TableSpec,
    spec: LakeSpec,
    views: Views,
    of_keys: OfKeys | None = None,
) -> DataFrame:
    """The versions of a table's rows as of an instant of its history: of all keys, or of those that are kept."""
    events_df = read_table(views.spark, timeline, instant)
    events_df = of_keys(events_df) if of_keys else events_df
    columns = history_columns(table, events_df.columns)
    source = f"`{views.name(events_df, table.history_name)}`"
    return views.spark.sql(versions_select(table, columns, spec, source=source, quote="`"))


def changed_versions(
    pull: Pull, timeline: Timeline, table: TableSpec, spec: LakeSpec, views: Views
) -> tuple[DataFrame, DataFrame]:
    """All versions of the keys that have new events in the pull's window: as of its begin, and as of its end.

    What was written again in the window without being new is among them. Both states are read as they were, so that it
    is no change then. Both have the columns of the later one.
    """
    keys = [*key_columns(table)]
    keys_df = views.pin(read_pull(views.spark, timeline.path, pull).select(*keys).distinct(), "keys")
    few_df = F.broadcast(keys_df) if keys_df.count() <= _MOST_BROADCAST else keys_df
    of_keys = partial(_of_keys, keys_df=few_df, keys=keys)
    window = pull.window
    before_df, after_df = (
        versions_at(at, timeline, table, spec, views, of_keys) for at in (window.after, window.up_to)
    )
    had = {*before_df.columns}
    columns = [
        F.col(field.name) if field.name in had else F.lit(None).cast(field.dataType).alias(field.name)
        for field in after_df.schema
    ]
    return before_df.select(*columns), after_df


def _of_keys(events_df: DataFrame, *, keys_df: DataFrame, keys: list[str]) -> DataFrame:
    return events_df.join(keys_df, keys, "left_semi")


def changed_spans(came_df: DataFrame, left_df: DataFrame, key: str, values: Iterable[str]) -> DataFrame:
    """From when to when these values of a key are others than before (``__key``, ``__from``, ``__to``; null: no end).

    A version adds its values from its begin on and takes them away at its end; where what came and what left add up to
    nothing, everything is as it was. All that changed of a key is in one span, from the first moment to the last.
    """
    begin, end = VALID
    kinds = [*dict.fromkeys((key, *values))]
    sides_df = came_df.withColumn(_STEP, F.lit(1)).unionByName(left_df.withColumn(_STEP, F.lit(-1)))
    points = [
        F.struct(F.col(at).alias(FROM), (F.col(_STEP) * sign).alias(_STEP)) for at, sign in ((begin, 1), (end, -1))
    ]
    points_df = sides_df.select(*kinds, F.explode(F.array(*points)).alias("point")).select(*kinds, "point.*")
    steps_df = points_df.where(F.col(FROM).isNotNull()).groupBy(*kinds, FROM).agg(F.sum(_STEP).alias(_STEP))
    of_values = Window.partitionBy(*kinds).orderBy(FROM)
    spans_df = steps_df.where(F.col(_STEP) != 0).select(
        F.col(key).alias(KEY), FROM, F.lead(FROM).over(of_values).alias(TO), F.sum(_STEP).over(of_values).alias(_STEP)
    )
    has_end = F.min(F.col(TO).isNotNull())
    return (
        spans_df.where(F.col(_STEP) != 0)
        .groupBy(KEY)
        .agg(F.min(FROM).alias(FROM), F.when(has_end, F.max(TO)).alias(TO))
    )
