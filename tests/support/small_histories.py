"""A small history of the bench: 800 sales, of which eight are deleted at the end, and what the product makes of it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from bench.history import History
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.merge.tables import merged_table
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.transforms.column_orders import to_columns
from spark_jobs.transforms.folding import fold_events
from spark_jobs.transforms.keyed_rows import merge_rows

SPEC = load_lake_spec(Settings().lake_spec)
HISTORY = History(spec=SPEC, events=4000)


def folded(events_df: DataFrame, table: str) -> DataFrame:
    """The rows of a table after these events, by the product."""
    merged = merged_table(SPEC.table(table), SPEC, {})
    return to_columns(merge_rows(fold_events(events_df, [merged], len(merged.columns)), None), merged)
