"""How many rows a merge added, changed and removed, counted by the keys that readers see before and after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import DataFrame

from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.transforms.keyed_rows import KEY, TABLE, MergedTable
from spark_jobs.transforms.row_counts import count_merged, row_counts

Keys = Mapping[str, Collection[str]]
"""By table, the keys of its live rows as text."""


def assert_kinds(merged_df: DataFrame, tables: Sequence[MergedTable], before: Keys, after: Keys) -> None:
    """What the product counts in merged rows is what the keys before and after say, of every table."""
    rows = merged_df.select(TABLE, KEY).collect()
    written = {table.name: {row[KEY] for row in rows if row[TABLE] == table.name} for table in tables}
    counted_df = merged_df.groupBy(TABLE).agg(*count_merged(tables))
    counted = {row[TABLE]: row_counts(row.asDict()) for row in counted_df.collect()}
    for name, keys in written.items():
        was, is_now = {*before[name]}, {*after[name]}
        expected = RowCounts(
            added=len(is_now - was), changed=len(keys & was & is_now), removed=len(was - is_now), upserted=0
        )
        assert counted.get(name, RowCounts()) == expected, name
