"""Taking somebody out of the tables: the log, and the tables of newest values. Marts follow by themselves.

Rows keep their keys and the order of their events: what a table says afterwards is what it would say if the events had
named the stand-in all along (:data:`spark_jobs.contracts.people.STAND_IN`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.contracts.people import STAND_IN, Person
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import TableSpec
from spark_jobs.storage.change_feed import CHANGES_KEY, write_changes
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, checkpoint_key, table_checkpoint
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import log_layout, table_layout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.erasure import forgotten, names_person, without_person
from spark_jobs.transforms.visible import visible_rows


def rows_about(spark: SparkSession, table: str, person: Person, settings: Settings) -> DataFrame | None:
    """The rows of a table that name the person; None when it has no commit, or no column that could."""
    timeline = Timeline(table=table, path=settings.table_path(table))
    if not timeline.writes:
        return None
    rows_df = read_snapshot(spark, timeline.path)
    condition = names_person(person, rows_df.columns)
    return None if condition is None else rows_df.where(condition)


def known_names(spark: SparkSession, spec: LakeSpec, person: Person, settings: Settings) -> tuple[str, ...]:
    """Every name that stands beside the person's key in the log or in a table."""
    names: set[str] = set()
    for table in (spec.log, *(table.name for table in spec.tables)):
        found_df = rows_about(spark, table, Person(spec=person.spec, id=person.id), settings)
        if found_df is None or person.spec.key not in found_df.columns:
            continue
        for column in set(person.spec.columns) & set(found_df.columns):
            names |= {row[0] for row in found_df.select(column).distinct().collect() if row[0] and row[0].strip()}
    return tuple(sorted(names))


def is_stand_in_taken(spark: SparkSession, spec: LakeSpec, person: Person, settings: Settings) -> bool:
    """True when somebody of the source has the stand-in as their key: they have a name there."""
    nobody = Person(spec=person.spec, id=str(STAND_IN))
    return bool(known_names(spark, spec, nobody, settings))


def erase_in_log(
    spark: SparkSession, spec: LakeSpec, person: Person, metadata: Mapping[str, str], settings: Settings
) -> int:
    """Rewrite the events that name the person, with ``metadata`` in the commit; gives how many rows it wrote."""
    settled_timeline(spark, spec.log, settings)
    found_df = rows_about(spark, spec.log, person, settings)
    if found_df is None:
        return 0
    edited_df = without_person(found_df, person)
    return commit(edited_df, log_layout(spec), metadata=metadata, settings=settings, operation=Operation.UPSERT).rows


def erase_in_table(spark: SparkSession, spec: LakeSpec, table: TableSpec, person: Person, settings: Settings) -> int:
    """Remove the person's own row; in a table of something else, put the stand-in into the rows that name them.

    Its checkpoint on the log stays, and those who read the table are told as of any commit.
    """
    found_df = rows_about(spark, table.name, person, settings)
    if found_df is None:
        return 0
    timeline = settled_timeline(spark, table.name, settings)
    state = ConsumerRegistry(settings.base_path).read(SPLIT)
    metadata = {checkpoint_key(spec.log): table_checkpoint(state, timeline, spec.log)}
    with pinned(spark, found_df, "erased") as found_df:
        if found_df.isEmpty():
            return 0
        is_own = table.key == person.spec.key
        if table.name in spec.fed_tables:
            changes_df = _changes(found_df, table, spec, None if is_own else person)
            metadata[CHANGES_KEY] = write_changes(changes_df, table.name, settings)
        edited_df = found_df if is_own else without_person(found_df, person)
        done = commit(
            edited_df,
            fit_layout(table_layout(table), timeline),
            metadata=metadata,
            settings=settings,
            operation=Operation.DELETE if is_own else Operation.UPSERT,
        )
        return done.rows


def count_in_files(spark: SparkSession, path: str, person: Person) -> int:
    """Rows that name the person in any file below a table's folder, whatever state it is of, and other files that do.

    The table's Parquet files are read as such, without Hudi. A log file that is still there counts: nothing can be
    said of it. What is no data file (the timeline) is searched for the names.
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
        condition = names_person(person, rows_df.columns)
        count += 0 if condition is None else int(rows_df.where(condition).count())
    return count


def _changes(found_df: DataFrame, table: TableSpec, spec: LakeSpec, person: Person | None) -> DataFrame:
    """``before`` and ``after`` of the rows as readers see them; without ``person`` they go."""
    seen_df = visible_rows(found_df, table.name, spec)
    before = F.struct(*seen_df.columns).alias(BEFORE)
    if person is None:
        return seen_df.select(before, F.lit(None).cast(seen_df.select(before).schema[0].dataType).alias(AFTER))
    return seen_df.select(before, F.struct(*forgotten(seen_df, person)).alias(AFTER))
