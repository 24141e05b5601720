"""What a rebuild would change in a table: its rows by the other definition beside it, compared, and nothing written."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.checkpoints import instant_of
from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_KEY, TECHNICAL
from spark_jobs.lake_spec.visible import is_technical
from spark_jobs.marts.plan import count_rewrite, newest_bytes
from spark_jobs.marts.preview import Preview, compare
from spark_jobs.pipelines.definitions import stored_form
from spark_jobs.pipelines.merge.tables import targets_of
from spark_jobs.pipelines.rebuild.rows import LogRows, log_timeline
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, table_checkpoint
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull, plan_pull, read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.cells import difference
from spark_jobs.transforms.column_orders import order_column
from spark_jobs.transforms.keyed_rows import DELETED_ORDER, MergedTable
from spark_jobs.transforms.stored_rows import to_stored
from spark_jobs.transforms.texts import to_text

_OWN = frozenset({*TECHNICAL, DELETED_ORDER})


def preview_table(context: AnyContext, name: str, *, samples: int) -> tuple[Preview, str]:
    """Make the table's rows of the log by the definition of the files, and compare them with what readers see of it.

    The log is read as far as the table has read it, so that nothing but the definition differs. Where that is no longer
    possible (it is within a commit, or was archived) the log is read as it is now, and a line says so.

    Returns:
        The difference, by the table's key: where that is another one, all rows go and others come. And the line.
    """
    spark, spec, settings = context.spark, context.spec, context.settings
    timeline = Timeline(table=name, path=settings.table_path(name))
    pull, line = _as_far_as(timeline, spec, settings)
    rows, key = LogRows.of(context, name=name, pull=pull), stored_form(timeline) or {}
    now_key = ", ".join(rows.table.spec.key)
    is_same_key = key.get("key", now_key) == now_key
    stored_df = _seen(read_snapshot(spark, timeline.path), rows.table, "" if is_same_key else f"{key['key']}: ")
    with rows.keyed() as keyed_df:
        other_df = _seen(to_stored(keyed_df, rows.table), rows.table, "" if is_same_key else f"{now_key}: ")
        columns = [column for column in other_df.columns if column != CELL_ID]
        with pinned(spark, difference(other_df, stored_df, columns, ""), "difference") as difference_df:
            rewrite = count_rewrite(difference_df, name, spec, timeline.path)
            rewrite = replace(
                rewrite,
                bytes=newest_bytes(timeline.path, ["", *Filesystem(timeline.path).folders()]),
                downstream=tuple(mart.name for mart in spec.readers_of(*targets_of([rows.table.spec]))),
            )
            return compare(rewrite, difference_df, stored_df, samples), line


def _as_far_as(timeline: Timeline, spec: LakeSpec, settings: Settings) -> tuple[Pull, str]:
    log = log_timeline(spec, settings)
    place = table_checkpoint(ConsumerRegistry(settings.base_path).read(SPLIT), timeline, spec.log)
    read_to = instant_of(place)
    if place == read_to and log.holds(read_to):
        return Pull(window=InstantRange(after=BEGINNING, up_to=read_to)), ""
    pull = plan_pull(log, after=BEGINNING)
    line = f"{timeline.table}: compared with all of {spec.log}, of which it has read only a part"
    return pull, line


def _seen(stored_df: DataFrame, table: MergedTable, prefix: str) -> DataFrame:
    """What readers see of a table's rows, of whichever definition, and the text of each row's key."""
    names = set(stored_df.columns)
    live_df = stored_df.where(~F.col(IS_DELETED)) if IS_DELETED in names else stored_df
    orders = {order_column(name) for name in names} if ROW_KEY not in names else set()
    shown = [name for name in stored_df.columns if name not in _OWN | orders and not is_technical(name)]
    return live_df.select(F.concat(F.lit(prefix), _key(names, stored_df.columns, table)).alias(CELL_ID), *shown)


def _key(names: set[str], columns: list[str], table: MergedTable) -> Column:
    """The key as text: stored so with one order a row, else the first column."""
    if ROW_KEY in names:
        return F.col(ROW_KEY)
    is_own = not table.spec.is_mirror and columns[0] == table.spec.key_column
    return to_text(F.col(columns[0]), table.key_type if is_own else "")
