"""Columns of the wide log that the lake spec does not declare: what a batch has of them, and what is reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.names import plain
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.undeclared_columns import (
    LONG_TYPE,
    UNDECLARED_KEY,
    KeptColumn,
    KeptColumns,
    UndeclaredValues,
    pack_kept,
    take_in,
    to_fill,
)
from spark_jobs.storage.lake_specs import read_kept
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import is_usable

FILL = "schema apply"
"""The command that fills tables from what was kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeclaredColumns:
    """What is known of such columns before a batch and after it."""

    before: KeptColumns = field(default_factory=dict)
    after: KeptColumns = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, str]:
        """For the log's next commit."""
        return {UNDECLARED_KEY: pack_kept(self.after)} if self.after else {}

    def alerts(self, spec: LakeSpec) -> tuple[str, ...]:
        """A line for each column that came for the first time and is not declared: a person decides, once."""
        new = {name: kept for name, kept in self.after.items() if name not in self.before and not kept.declared}
        return tuple(
            f"{spec.log}: column {plain(name)} ({_types(kept)}) came, which the lake spec does not declare: its values "
            f"{_how_kept(kept)}; docs/schemas.md says how to declare it"
            for name, kept in sorted(new.items())
        )

    def messages(self, spec: LakeSpec) -> tuple[str, ...]:
        """A line for each column whose kept values wait to be filled into tables."""
        return fill_lines(self.after, spec)


def fill_lines(known: KeptColumns, spec: LakeSpec) -> tuple[str, ...]:
    """A line for each column that is declared now, with values from before."""
    return tuple(
        f"{spec.log}: column {column.name} is declared, and earlier events have values of it; fill the tables with: "
        f"{FILL} --yes"
        for column in to_fill(known, spec.source.columns)
    )


def has_undeclared(events_df: DataFrame) -> Column:
    """True for an event of the wide log that has columns which are not declared."""
    if "row_types" not in events_df.columns:
        return F.lit(False)
    return F.col("source_table").isNull() & F.col("row_types").isNotNull()


def keep_undeclared(
    decoded_df: DataFrame, spec: LakeSpec, log_timeline: Timeline, *, events: int, clock: datetime
) -> UndeclaredColumns:
    """What a batch of decoded records, which is pinned, has of such columns, added to what is known of them.

    ``events`` is how many of its usable records have any: where there are none, they are not read again.
    """
    before = read_kept(log_timeline)
    found = _found(decoded_df) if events else []
    declared = [column.source for column in spec.source.columns]
    return UndeclaredColumns(before=before, after=take_in(before, found, declared, at=format_clock(clock)))


def _found(decoded_df: DataFrame) -> list[UndeclaredValues]:
    wide_df = decoded_df.where(is_usable() & has_undeclared(decoded_df))
    columns_df = wide_df.select(
        "event_order", "read_from", "read_offset", F.explode("row_types").alias("column", "type")
    )
    first = F.min(F.struct("event_order", "read_from", "read_offset")).alias("first")
    rows = columns_df.groupBy("column", "type").agg(first).collect()
    return [
        UndeclaredValues(
            column=row["column"],
            type=row["type"],
            order=row["first"]["event_order"],
            place=f"{row['first']['read_from']}:{row['first']['read_offset']}",
        )
        for row in rows
    ]


def _how_kept(kept: KeptColumn) -> str:
    is_long = any(type_.endswith(f":{LONG_TYPE}") for type_ in kept.types)
    return "are kept, but not those that are too long" if is_long else "are kept"


def _types(kept: KeptColumn) -> str:
    return ", ".join(dict.fromkeys(type_.partition(":")[2] or "null so far" for type_ in kept.types))
