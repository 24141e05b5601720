"""A table as it was at a commit: from the files that have its rows where these are few and certain, else by Hudi.

Hudi's relation reads the timeline and the commit's schema, lists the folders in a Spark job and plans for longer than
the rows of a mart take to read. What a refresh reads of a copy-on-write table is named by the driver instead.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.commit_columns import (
    has_nulls_within,
    has_types_of,
    is_plain_list,
    lacks_nulls_of,
    table_columns,
)
from spark_jobs.storage.commit_files import NamedFiles
from spark_jobs.storage.file_scans import read_named_files, with_types_of
from spark_jobs.storage.filesystem import FileEntry, Filesystem
from spark_jobs.storage.latest_files import latest_files
from spark_jobs.storage.reader import read_as_of
from spark_jobs.storage.timeline import Timeline

if TYPE_CHECKING:
    import pyarrow as pa

MOST_FILES = 256
"""Of more Hudi finds them, in Spark jobs."""
MOST_BYTES = 64 * 1024 * 1024
"""In the files of a table without arrays; more rows Hudi reads by columns faster than a scan row by row does."""
_MOST_KNOWN = 10_000
_PLAIN_FOLDER = re.compile(r"\w+=[\w.-]+")
"""A folder that is named by a value as it is."""
_SIDE_BY_SIDE = 8

log = logging.getLogger(__name__)


def read_table(
    spark: SparkSession, timeline: Timeline, as_of: Instant, partitions: Collection[str] | None = None
) -> DataFrame:
    """The table's columns, without ``_hoodie_…``, as of a commit that is on its timeline and not yet cleaned.

    Args:
        spark: a session of this project's.
        timeline: of the table.
        as_of: the commit.
        partitions: folders (``column=value``) that have all rows which the caller keeps; None for all of them. Rows
            of others may be there too.
    """
    if files := _certain_files(timeline, as_of, partitions):
        return with_types_of(read_named_files(spark, timeline.path, files), files.columns or StructType())
    return read_as_of(spark, timeline.path, as_of)


def _certain_files(timeline: Timeline, as_of: Instant, partitions: Collection[str] | None) -> NamedFiles | None:
    """Few files with columns of the table's types; None when there are others, or it is not certain.

    Nor where something within a type has no nulls, but for plain arrays: what is read from files has another type.
    """
    columns = table_columns(timeline, up_to=as_of) if timeline.holds(as_of) else None
    is_plain = partitions is None or all(map(_PLAIN_FOLDER.fullmatch, partitions))
    if columns is None or not all(map(_can_be_scanned, columns)) or not is_plain:
        return None
    found = latest_files(timeline, None if partitions is None else sorted(partitions), as_of=as_of)
    if found is None or len(found) > MOST_FILES or _is_much(found.values(), columns):
        return None
    stored = _columns_of(timeline, found.values())
    if stored is None or not all(has_types_of(each, columns) and lacks_nulls_of(each, columns) for each in stored):
        return None
    return NamedFiles(paths=tuple(sorted(found)), stored=columns, columns=columns)


def _is_much(entries: Iterable[FileEntry], columns: StructType) -> bool:
    is_flat = not any(is_plain_list(field.dataType) for field in columns)
    return is_flat and sum(entry.size for entry in entries) > MOST_BYTES


def _can_be_scanned(field: StructField) -> bool:
    return is_plain_list(field.dataType) or has_nulls_within(field.dataType)


def _columns_of(timeline: Timeline, entries: Iterable[FileEntry]) -> list[StructType] | None:
    """The columns in each file, by their footers: a commit's schema is not always that of its files.

    None when a file was cleaned meanwhile, or has a type that is none of Spark's.
    """
    try:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as readers:
            return list(readers.map(partial(_read_columns, timeline.path), entries))
    except (OSError, ValueError, TypeError) as error:
        log.info("%s: Hudi finds the rows, as a file could not be looked at: %s", timeline.table, error)
        return None


@lru_cache(_MOST_KNOWN)
def _read_columns(root: str, entry: FileEntry) -> StructType:
    """Of a file that never changes."""
    import pyarrow.parquet as pq

    with Filesystem(root).open(entry.path) as file:
        schema = pq.read_schema(file)
    return StructType([StructField(field.name, _type_of(field.type)) for field in schema])


def _type_of(arrow_type: pa.DataType) -> DataType:
    """Spark's, for which an array may always have nulls; by Parquet some have none."""
    from pyspark.sql.pandas.types import from_arrow_type

    kind = from_arrow_type(arrow_type, True)
    return ArrayType(kind.elementType, arrow_type.value_field.nullable) if isinstance(kind, ArrayType) else kind
