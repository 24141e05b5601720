"""changes: what commits of a table changed between two moments, each row before and after."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import InstantRange
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, SourceWindow
from spark_jobs.job_options.changes import ChangesOptions
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import ROW_ORDER
from spark_jobs.lake_spec.versions import history_columns
from spark_jobs.pipelines.column_forms import stored_forms
from spark_jobs.pipelines.exporting import export_rows, find_target, print_rows
from spark_jobs.storage.commit_files import files_of_window
from spark_jobs.storage.layouts import TableLayout, choose_layouts
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull, read_as_of, read_pull
from spark_jobs.storage.time_travel import parse_moment, state_at
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.differences import inserted_rows, row_differences
from spark_jobs.transforms.visible import visible_rows


def check(context: JobContext[ChangesOptions]) -> None:
    """Raise ContractError when the options name no table or no moments, or ``--output`` cannot be written."""
    spec, settings = context.spec, context.settings
    options = context.options
    find_target(context.options, settings)
    choose_layouts(spec, options.table)
    for moment in filter(None, (options.after, options.up_to)):
        parse_moment(moment)


def run(context: JobContext[ChangesOptions]) -> JobResult:
    """Print the rows that differ between two states of a table: ``op``, the key, and the columns that changed.

    Or write all of them to ``--output``, a file without rows when there are none. Both states are read as of an
    instant; a row that several commits changed comes once. The log has inserts alone.
    """
    spark, settings = context.spark, context.settings
    spec, options = context.spec, context.options
    target = find_target(context.options, settings)
    (layout,) = choose_layouts(spec, options.table).values()
    timeline = Timeline(table=layout.name, path=settings.table_path(layout.name))
    timeline.check_readable()
    window = _window(context, timeline)
    keys = _keys(spec, layout, timeline)
    with pinned(spark, _differences(spark, spec, timeline, window, keys), "differences") as pinned_df:
        counts = {row["op"]: row["count"] for row in pinned_df.groupBy("op").count().collect()}
        sorted_df = pinned_df.orderBy(*keys)
        export = export_rows(spark, sorted_df, target, context.options) if target else None
        if export is None:
            more = print_rows(sorted_df, options)
    return context.result(
        DONE if counts else NOTHING_TO_DO,
        source=SourceWindow(table=layout.name, after=window.after, up_to=window.up_to),
        counters={**counts, **(export.counters if export else {})},
        messages=(
            f"{len(timeline.changes_in(window))} commits after {window.after} up to {window.up_to}",
            *([export.message] if export else more),
        ),
    )


def _keys(spec: LakeSpec, layout: TableLayout, timeline: Timeline) -> tuple[str, ...]:
    """Columns that readers know a row by: of a mart its grain, of a load or a mirror its key."""
    if load := spec.find_load(layout.name):
        return load.key
    if kept := spec.history_of(layout.name):
        return (*history_columns(kept, ()), ROW_ORDER)
    if mirror := spec.mirror(layout.name):
        names = stored_forms(timeline)
        return tuple(names[source][0] for source in mirror.key)
    if table := spec.find_table(layout.name):
        return table.key
    return spec.mart(layout.name).grain if layout.name in spec.mart_names else (layout.record_key,)


def _differences(
    spark: SparkSession, spec: LakeSpec, timeline: Timeline, window: InstantRange, keys: Sequence[str]
) -> DataFrame:
    table = timeline.table
    if spec.is_append_only(table):
        pull = Pull(window=window, files=files_of_window(timeline, window))
        pulled_df = read_pull(spark, timeline.path, pull)
        return inserted_rows(visible_rows(pulled_df, table, spec), keys)
    before_df, after_df = (
        visible_rows(read_as_of(spark, timeline.path, instant), table, spec) for instant in (window.after, window.up_to)
    )
    return row_differences(before_df, after_df, keys)


def _window(context: JobContext[ChangesOptions], timeline: Timeline) -> InstantRange:
    spark = context.spark
    options = context.options
    after = state_at(spark, timeline, parse_moment(options.after))
    up_to = parse_moment(options.up_to) if options.up_to else timeline.readable_up_to
    found = [write.time for write in timeline.writes if after < write.time <= min(up_to, timeline.readable_up_to)]
    if (most := options.max_commits) is not None:
        if most < 1:
            raise ContractError("--max-commits must be at least 1")
        found = found[:most]
    return InstantRange(after=after, up_to=found[-1] if found else after)


JOB = Job(options=ChangesOptions, run=run, check=check)
