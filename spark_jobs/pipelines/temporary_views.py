"""Tables, versions of rows and views of the lake as temporary views of a session, under their names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.versions import history_columns, versions_select
from spark_jobs.spec_files.views import load_views
from spark_jobs.storage.reader import read_as_of, read_snapshot
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.time_travel import find_state, parse_moment
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import visible_rows


def register_all(
    spark: SparkSession, spec: LakeSpec, settings: Settings, *, moment: str = "", only: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Tables, versions of rows and views of the lake, of ``only`` these; gives the tables, and views that lack one."""
    tables = register_tables(spark, spec, settings, moment=moment, only=only)
    register_versions(spark, spec, tables)
    return tables, register_views(spark, Path(settings.views_path), only=only)


def register_tables(
    spark: SparkSession, spec: LakeSpec, settings: Settings, *, moment: str = "", only: Collection[str] = ()
) -> list[str]:
    """Every table with a commit (of ``only`` these), under its name; live rows and the columns that readers see.

    With a ``moment`` (a time, an instant, the name of a savepoint) those that had a commit then, as they were.
    """
    registered = []
    record = SavepointRecords(settings).find(moment) if moment else None
    for name in (each for each in spec.table_names if not only or each in only):
        timeline = Timeline(table=name, path=settings.table_path(name))
        timeline.check_readable()
        if timeline.last is None:
            continue
        if moment:
            wanted = record.tables.get(name) if record else parse_moment(moment)
            if wanted is None or (instant := find_state(spark, timeline, wanted)) is None:
                continue
            rows_df = read_as_of(spark, timeline.path, instant)
        else:
            rows_df = read_snapshot(spark, timeline.path)
        visible_rows(rows_df, name, spec).createOrReplaceTempView(name)
        registered.append(name)
    return registered


def register_versions(spark: SparkSession, spec: LakeSpec, registered: Collection[str]) -> None:
    """The versions of the rows of each table whose history is there."""
    for table in (each for each in spec.tables if each.history and each.history_name in registered):
        columns = history_columns(table, spark.table(table.history_name).columns)
        select = versions_select(table, columns, spec, source=f"`{table.history_name}`", quote="`")
        spark.sql(select).createOrReplaceTempView(table.versions_name)


def register_views(spark: SparkSession, folder: Path, *, only: Collection[str] = ()) -> list[str]:
    """Each view below ``folder`` (of ``only`` these) under its own name, after those it reads.

    Gives those that lack a table.
    """
    from pyspark.errors import AnalysisException

    missing = []
    for view in (each for each in load_views(folder) if not only or each.name in only):
        try:
            spark.sql(view.text).createOrReplaceTempView(view.name)
        except AnalysisException:
            missing.append(view.name)
    return missing
