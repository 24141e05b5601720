"""Tables filled with columns that were declared after events had them: those events merged once more."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.merged import MergeOutcome
from spark_jobs.storage.timeline import Timeline


def tables_with(spec: LakeSpec, columns: Sequence[ColumnSpec]) -> tuple[TableSpec, ...]:
    """The tables of the wide log that have one of these columns."""
    names = {column.name for column in columns}
    return tuple(table for table in spec.wide_tables if not names.isdisjoint({*table.key, *table.columns}))


def fill(merge: Merge, columns: Sequence[ColumnSpec]) -> MergeOutcome:
    """Merge the events again that have one of these columns beside those that were declared when they were read.

    No table gets further on the log. What else the events have is merged already, and changes nothing; a table
    without a commit gets all of it from its first ``split``.
    """
    source = Timeline(table=merge.context.spec.log, path=merge.context.settings.table_path(merge.context.spec.log))
    timelines = merge.settled()
    names = [name for name in merge.open_targets() if timelines[name].last]
    if names:
        merge.merge_part(names, source, columns=columns)
    return merge.merged
