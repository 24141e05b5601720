"""What a catalog should say of the tables of a lake: from their timelines and the lake spec, without Spark.

Formats, parameters and the two views of a merge-on-read table are those of Hudi's own Hive sync (its documentation,
"Syncing to Metastore"), so that Athena, Trino, Spark and Hive find what they look for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spark_jobs.contracts.catalogs import OWNER, CatalogColumn, CatalogTable
from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.descriptions import comments_of, described
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.versions import HISTORY_ABSENT, HISTORY_KEY, HISTORY_TIME
from spark_jobs.storage.catalog.schemas import fields_of, hive_type, spark_schema
from spark_jobs.storage.layouts import HUDI_COLUMNS, TableLayout, all_layouts
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

BASE_FILES = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
WITH_LOGS = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
_MOST_CHARACTERS = 4000
"""Of one table parameter in a Hive metastore; a schema that is longer goes into several."""
_COMMENTS = {
    "_hoodie_commit_time": "instant of the commit that wrote the row",
    "event_id": "identity of the event, by its place at the source",
    "op": "c created, u changed, d deleted, r read in a snapshot",
    "event_order": "place of the event among all events of the source, as text that sorts",
    "event_time": "when it happened at the source",
    "transaction_id": "the source's own name of the transaction: GTID, txId or commit LSN",
    "event_date": "day of event_time in UTC",
    "ingest_time": "clock of the run that took it in",
    "is_deleted": "the row was deleted at the source; views leave it out",
    HISTORY_KEY: "place of the event with the row's key",
    HISTORY_TIME: "when the event happened at the source",
    HISTORY_ABSENT: "columns that the event did not have, each between commas",
}


def find_tables(spec: LakeSpec, settings: Settings, table: str | None = None) -> Iterator[CatalogTable]:
    """Every table that has a commit, as a catalog should say it; of ``table`` alone when it is given."""
    for layout in all_layouts(spec):
        if table in (None, layout.name):
            timeline = Timeline(table=layout.name, path=settings.table_path(layout.name))
            timeline.check_version()
            if schema := timeline.newest_metadata("schema"):
                yield from _views(spec, layout, timeline, fields_of(schema))


def find_partitions(spec: LakeSpec, settings: Settings, table: CatalogTable) -> dict[str, str]:
    """The partitions that have rows: folder below the table's location by value."""
    if not table.partition_keys:
        return {}
    layout = next(each for each in all_layouts(spec) if table.name in names_of(each))
    state = TableState.look(layout, settings.table_path(layout.name))
    return {group.partition.partition("=")[2]: group.partition for group in state.live_groups}


def names_of(layout: TableLayout) -> tuple[str, ...]:
    """The names under which a catalog has the table."""
    return (f"{layout.name}_ro", f"{layout.name}_rt") if layout.is_merged else (layout.name,)


def location_of(path: str) -> str:
    """A table's folder as engines write it: ``s3://`` for ``s3a://``, a URI for a local path."""
    return path.replace("s3a://", "s3://", 1) if "://" in path else Path(path).absolute().as_uri()


def _views(
    spec: LakeSpec, layout: TableLayout, timeline: Timeline, fields: Sequence[tuple[str, Any]]
) -> Iterator[CatalogTable]:
    keys = [layout.partition] if layout.partition else []
    ordered = sorted(fields, key=lambda each: each[0] in keys)  # engines have partition columns last
    comments = _comments(spec, layout.name, [name for name, _ in ordered])
    columns = [CatalogColumn(name=name, type="string", comment=comments.get(name, "")) for name in HUDI_COLUMNS]
    columns += [CatalogColumn(name=n, type=hive_type(avro), comment=comments.get(n, "")) for n, avro in ordered]
    for name in names_of(layout):
        is_merged, is_base = layout.is_merged, name.endswith("_ro") or not layout.is_merged
        yield CatalogTable(
            name=name,
            description=_description(layout.name, name, described(spec, layout.name).description, is_merged=is_merged),
            location=location_of(timeline.path),
            columns=tuple(column for column in columns if column.name not in keys),
            partition_keys=tuple(column for column in columns if column.name in keys),
            input_format=BASE_FILES if is_base else WITH_LOGS,
            instant=timeline.newest or NO_INSTANT,
            is_read_optimized=is_merged and is_base,
            parameters={OWNER: spec.lake, "EXTERNAL": "TRUE", **_spark_parameters(ordered, keys, comments)},
        )


def _description(table: str, name: str, own: str, *, is_merged: bool) -> str:
    """What the spec says of the table, and what readers of this view see of it."""
    if not is_merged:
        shown = f"{table}: every commit"
    elif name.endswith("_ro"):
        shown = f"{table} as of its last compaction; {table}_rt has every commit"
    else:
        shown = (
            f"{table}: every commit, for engines that read log files (Athena: not its timestamps); "
            f"{table}_ro is for the others"
        )
    return f"{' '.join(own.split())} ({shown})" if own else shown


def _comments(spec: LakeSpec, table: str, names: Sequence[str]) -> dict[str, str]:
    """What the spec says of a column, and what the columns are that the engine adds."""
    load = spec.find_load(table)
    declared_names = {each.name: each for each in load.columns} if load else spec.columns_by_name
    declared = comments_of(spec, table)
    valued = {name: name.removesuffix("_order") for name in names if name.endswith("_order")}
    orders = {n: f"event order of the value of {column}" for n, column in valued.items() if column in declared_names}
    return {**_COMMENTS, **orders, **declared}


def _spark_parameters(
    fields: Sequence[tuple[str, Any]], keys: Sequence[str], comments: Mapping[str, str]
) -> dict[str, str]:
    """By which Spark finds its own schema, instead of Hive's, which knows no difference of case nor nullability."""
    schema = spark_schema(fields, comments)
    parts = [schema[at : at + _MOST_CHARACTERS] for at in range(0, len(schema), _MOST_CHARACTERS)]
    prefix = "spark.sql.sources.schema"
    found = {"spark.sql.sources.provider": "hudi", f"{prefix}.numParts": str(len(parts))}
    found |= {f"{prefix}.part.{number}": part for number, part in enumerate(parts)}
    if keys:
        found |= {f"{prefix}.numPartCols": str(len(keys))}
        found |= {f"{prefix}.partCol.{number}": key for number, key in enumerate(keys)}
    return found
