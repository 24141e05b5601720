"""The columns that a table at the source was written with, and writing it again where they have changed since.

Hudi adds a column to a table by itself. Another name or a wider type it does not give to rows that are there, so they
are written again, as one commit: rare, and at the cost of the table.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.options import METADATA_PREFIX, Operation
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import Commit, commit
from spark_jobs.transforms.keyed_rows import MergedTable
from spark_jobs.transforms.row_orders import with_columns_of

FORMS_KEY = "columns"
"""In the metadata of a mirror's commit: by name at the source, name in the lake and SQL type of its columns."""

log = logging.getLogger(__name__)


def column_forms(table: MergedTable) -> dict[str, str]:
    """For the commit of a mirror, the columns that it is written with."""
    forms = {column.source: [column.name, column.type] for column in table.columns}
    return {FORMS_KEY: json.dumps(forms, separators=(",", ":"))}


def stored_forms(timeline: Timeline) -> dict[str, tuple[str, str]]:
    """By name at the source, the name and type with which the mirror's columns were written last."""
    text = timeline.newest_metadata(METADATA_PREFIX + FORMS_KEY)
    return {source: (name, type_) for source, (name, type_) in json.loads(text).items()} if text else {}


def has_other_form(table: MergedTable, stored: Mapping[str, tuple[str, str]]) -> bool:
    """True when a column that was written has another name or type now."""
    now = {column.source: (column.name, column.type) for column in table.columns}
    return any(now.get(source, form) != form for source, form in stored.items())


def write_again(
    spark: SparkSession, table: MergedTable, timeline: Timeline, layout: TableLayout, settings: Settings
) -> Commit | None:
    """Write the rows of a table, or of its history, with the columns of now; None when they have them.

    The caller holds its lease. ``layout`` has as many buckets as it was made with.

    How far it is does not change.
    """
    stored = stored_forms(timeline)
    if not has_other_form(table, stored):
        return None
    log.info("%s: written again, because a column has another name or type now", layout.name)
    names = {source: name for source, (name, _) in stored.items()}
    rows_df = with_columns_of(read_stored(spark, timeline.path), table, names)
    return commit(
        rows_df, layout, metadata=column_forms(table), settings=settings, operation=Operation.INSERT_OVERWRITE
    )
