"""Taking a person out of the tables: the log, and the entity tables. Marts follow by themselves.

Rows keep their keys and the order of their events: what a table says afterwards is what it would say if the events had
named the stand-in all along (:data:`spark_jobs.lake_spec.people.STAND_IN`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.naming import event_namings, naming_of
from spark_jobs.lake_spec.people import STAND_IN, Naming, Person
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import REMOVES, ROW_KEY, Deletes, TableSpec
from spark_jobs.storage.change_feed import write_changes
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, checkpoint_key, table_checkpoint
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import TableLayout, log_layout, tombstones_layout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.erasure import (
    events_without_person,
    forgotten,
    names_in_events,
    names_person,
    without_person,
)
from spark_jobs.transforms.visible import visible_rows


def rows_about(spark: SparkSession, spec: LakeSpec, table: str, person: Person, settings: Settings) -> DataFrame | None:
    """The rows of a table that name the person; None when it has no commit, or no column that could."""
    timeline = Timeline(table=table, path=settings.table_path(table))
    timeline.check_readable()
    if not timeline.writes:
        return None
    rows_df = read_snapshot(spark, timeline.path)
    condition = _condition(person, spec, table, rows_df)
    return None if condition is None else rows_df.where(condition)


def known_names(spark: SparkSession, spec: LakeSpec, person: Person, settings: Settings) -> tuple[str, ...]:
    """Every name that is beside the person's key in the log or in a table."""
    names, alone = set[str](), Person(spec=person.spec, id=person.id)
    tables = [spec.log, *(table.name for table in spec.tables), *(load.name for load in spec.loads)]
    for table in tables:
        found_df = rows_about(spark, spec, table, alone, settings)
        naming = naming_of(person.spec, table, spec)
        if found_df is None:
            continue
        columns = []
        if naming and naming.key in found_df.columns:
            columns += [F.col(name) for name in sorted({*naming.columns} & {*found_df.columns})]
        if table == spec.log and "row_values" in found_df.columns:
            named = {name for of in event_namings(person.spec, spec).values() for each in of for name in each.columns}
            columns += [F.element_at("row_values", F.lit(name)) for name in sorted(named)]
        if columns:
            values = found_df.select(F.explode(F.array(*columns)).alias("name")).distinct().collect()
            names |= {row["name"] for row in values if row["name"] and row["name"].strip()}
    return tuple(sorted(names))


def is_stand_in_used(spark: SparkSession, spec: LakeSpec, person: Person, settings: Settings) -> bool:
    """True when a person at the source has the stand-in as their key: they have a name there."""
    stand_in = Person(spec=person.spec, id=str(STAND_IN))
    return bool(known_names(spark, spec, stand_in, settings))


def erase_in_log(
    spark: SparkSession, spec: LakeSpec, person: Person, metadata: Mapping[str, str], settings: Settings
) -> int:
    """Rewrite the events that name the person, with ``metadata`` in the commit; gives how many rows it wrote."""
    settled_timeline(spark, spec.log, settings)
    edited_df = rows_about(spark, spec, spec.log, person, settings)
    if edited_df is None:
        return 0
    if naming := naming_of(person.spec, spec.log, spec):
        edited_df = _where_wide(edited_df, naming, person)
    if "row_values" in edited_df.columns:
        edited_df = events_without_person(edited_df, person, event_namings(person.spec, spec))
    return commit(edited_df, log_layout(spec), metadata=metadata, settings=settings, operation=Operation.UPSERT).rows


def erase_in_table(spark: SparkSession, spec: LakeSpec, layout: TableLayout, person: Person, settings: Settings) -> int:
    """Remove rows that are the person's own; in rows of something else, put the stand-in in the place of their key.

    In a history that is every version of them; what the events say of the stand-in comes again with the log's.

    Rows are their own where the person's key is of the table's key. The table's checkpoint on the log stays, and its
    readers see a commit as any other.
    """
    found_df, naming = rows_about(spark, spec, layout.name, person, settings), naming_of(person.spec, layout.name, spec)
    if found_df is None or naming is None:
        return 0
    timeline = settled_timeline(spark, layout.name, settings)
    metadata: dict[str, str] = {}
    table = spec.find_table(layout.name)
    if table or spec.history_of(layout.name):
        state = ConsumerRegistry(settings.base_path).read(SPLIT)
        metadata = {checkpoint_key(spec.log): table_checkpoint(state, timeline, spec.log)}
    with pinned(spark, found_df, "erased") as found_df:
        if found_df.isEmpty():
            return 0
        is_own = _is_of_the_key(naming, layout.name, spec)
        if layout.name in spec.fed_tables:
            changes_df = _changes(found_df, layout.name, spec, None if is_own else naming)
            metadata |= write_changes(changes_df, layout.name, settings)
        edited_df = found_df if is_own else without_person(found_df, naming)
        if table and table.removes_rows:
            edited_df = edited_df.withColumn(REMOVES, F.lit(False))
        done = commit(
            edited_df,
            fit_layout(layout, timeline),
            metadata=metadata,
            settings=settings,
            operation=Operation.DELETE if is_own else Operation.UPSERT,
        )
        return done.rows


def erase_in_tombstones(spark: SparkSession, spec: LakeSpec, person: Person, settings: Settings) -> int:
    """Remove what is kept of the person's deleted rows: its key is theirs."""
    rows, is_theirs = 0, _tombstones_of(person, spec)
    for name in spec.tombstones if is_theirs is not None else ():
        timeline = settled_timeline(spark, name, settings)
        if not timeline.last or is_theirs is None:
            continue
        stored_df = read_snapshot(spark, timeline.path)
        with pinned(spark, stored_df.where(is_theirs), "tombstones") as found_df:
            if not found_df.isEmpty():
                layout = fit_layout(tombstones_layout(name), timeline)
                done = commit(found_df, layout, metadata={}, settings=settings, operation=Operation.DELETE)
                rows += done.rows
    return rows


def count_in_files(
    spark: SparkSession, path: str, person: Person, conditions: Callable[[DataFrame], Column | None]
) -> int:
    """Rows that name the person in any file below a table's folder, whatever state it is of, and other files that do.

    ``conditions`` gives what is true for such rows. The table's Parquet files are read as such, without Hudi. A log
    file that is still there counts: it cannot be searched. What is no data file (the timeline) is searched for the
    names.
    """
    files = Filesystem(path)
    relative = [entry.path.removeprefix(files.root).strip("/") for entry in files.list_files(recursive=True)]
    data = [name for name in relative if name.endswith(".parquet") and not name.startswith(".hoodie/")]
    logs = [name for name in relative if re.search(r"\.log\.\d+_", name)]
    # Whole words, and none that base64 could be part of: commits hold the ledger of the landing files.
    words = "|".join(map(re.escape, person.names))
    spelt = re.compile(rf"(?<![0-9A-Za-z+/=_])(?:{words})(?![0-9A-Za-z+/=_])".encode()) if words else None
    other = [name for name in relative if name not in {*data, *logs}]
    count = len(logs) + sum(1 for name in other if spelt and spelt.search(files.read(name) or b""))
    if data:
        rows_df = spark.read.option("mergeSchema", "true").parquet(*(f"{path}/{name}" for name in data))
        condition = conditions(rows_df)
        count += 0 if condition is None else int(rows_df.where(condition).count())
    return count


def condition_in(person: Person, spec: LakeSpec, table: str) -> Callable[[DataFrame], Column | None]:
    """Of rows of a table what is true for those that name the person; None when their columns can name no one."""
    return lambda rows_df: _condition(person, spec, table, rows_df)


def _condition(person: Person, spec: LakeSpec, table: str, rows_df: DataFrame) -> Column | None:
    if table in spec.tombstones:
        return _tombstones_of(person, spec)
    types, naming = dict(rows_df.dtypes), naming_of(person.spec, table, spec)
    found = names_person(person, naming, types) if naming else None
    if table != spec.log or "row_values" not in types:
        return found
    namings = event_namings(person.spec, spec)
    in_events = names_in_events(person, namings) if namings else None
    return found if in_events is None else in_events if found is None else found | in_events


def _where_wide(events_df: DataFrame, naming: Naming, person: Person) -> DataFrame:
    """Events with the stand-in in the columns of the wide log, where those name the person.

    What such an event has beside the declared columns goes as a whole: it is not known which of it is about a person.
    """
    is_about = names_person(person, naming, dict(events_df.dtypes))
    if is_about is None:
        return events_df
    edited = dict(zip(events_df.columns, forgotten(events_df, naming), strict=True))
    named = [name for name in (naming.key, *naming.columns) if name in edited]
    changed = {name: F.when(is_about, edited[name]).otherwise(F.col(name)) for name in named}
    is_wide = is_about & F.col("source_table").isNull() if "source_table" in edited else F.lit(False)
    beside = [name for name in ("row_types", "row_values") if name in edited]
    changed |= {name: F.when(~F.coalesce(is_wide, F.lit(False)), F.col(name)) for name in beside}
    return events_df.withColumns(changed) if changed else events_df  # with none Spark Connect fails


def _is_of_the_key(naming: Naming, table: str, spec: LakeSpec) -> bool:
    if load := spec.find_load(table):
        return naming.key in load.key
    declared = spec.history_of(table) or spec.table(table)
    keys = [declared.column_name(source) for source in declared.key] if declared.is_mirror else declared.key
    return naming.key in keys


def _tombstones_of(person: Person, spec: LakeSpec) -> Column | None:
    """True for what is kept of the person's deleted rows; None when no table that removes rows has their key."""
    own = {table.name: _place_in_key(person, table, spec) for table in spec.tables if table.deletes is Deletes.REMOVE}
    found = [_is_tombstone_of(person, table, place) for table, place in own.items() if place is not None]
    return reduce(operator.or_, found) if found else None


def _place_in_key(person: Person, table: TableSpec, spec: LakeSpec) -> int | None:
    """Which part of the table's key is the person's; None when none is."""
    naming = naming_of(person.spec, table.name, spec)
    keys = [table.column_name(source) if table.is_mirror else source for source in table.key]
    return keys.index(naming.key) if naming and naming.key in keys else None


def _is_tombstone_of(person: Person, table: str, place: int) -> Column:
    key = F.coalesce(F.get(F.from_json(ROW_KEY, "array<string>"), F.lit(place)), F.col(ROW_KEY))
    return (F.col("mirror") == table) & (key == person.id)


def _changes(found_df: DataFrame, table: str, spec: LakeSpec, naming: Naming | None) -> DataFrame:
    """``before`` and ``after`` of the rows as readers see them; without ``naming`` they go."""
    seen_df = visible_rows(found_df, table, spec)
    before = F.struct(*seen_df.columns).alias(BEFORE)
    if naming is None:
        return seen_df.select(before, F.lit(None).cast(seen_df.select(before).schema[0].dataType).alias(AFTER))
    return seen_df.select(before, F.struct(*forgotten(seen_df, naming)).alias(AFTER))
