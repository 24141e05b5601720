"""What a rewrite of history would change, before it is done: partitions, rows, bytes, tables downstream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.transforms.cells import AFTER, BEFORE

HEADER = ("mart", "partitions", "rows new", "changed", "gone", "bytes to write again", "downstream")


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlan:
    """The rewrite of one mart. ``bytes`` is the size of the newest files of the partitions it touches."""

    mart: str
    partitions: tuple[str, ...]
    new: int
    changed: int
    gone: int
    bytes: int
    downstream: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Rows that would be written."""
        return self.new + self.changed + self.gone

    def describe(self) -> str:
        """One line for the log and for who approves it."""
        where = f"{len(self.partitions)} partitions" if self.partitions else "the table"
        rows = f"{self.rows:,} rows ({self.new:,} new, {self.changed:,} changed, {self.gone:,} gone)"
        downstream = ", ".join(self.downstream) or "none"
        return f"{rows} in {where}, {self.bytes:,} bytes to write again, downstream: {downstream}"

    def cells(self) -> tuple[str | int, ...]:
        """One row of the printed table, under ``HEADER``."""
        downstream = ", ".join(self.downstream) or "-"
        return (self.mart, _abridged(self.partitions), self.new, self.changed, self.gone, self.bytes, downstream)


def plan_rewrite(difference_df: DataFrame, mart: MartSpec, spec: LakeSpec, path: str) -> RewritePlan:
    """Count what the difference of a mart would write, and where."""
    return count_rewrite(difference_df, mart.name, spec, path, partition=mart.partition)


def count_rewrite(
    difference_df: DataFrame, name: str, spec: LakeSpec, path: str, *, partition: str = ""
) -> RewritePlan:
    """The same for any table; ``partition`` is the column of the difference that names the folders of its rows."""
    kind = F.when(F.col(BEFORE).isNull(), "new").when(F.col(AFTER).isNull(), "gone").otherwise("changed").alias("kind")
    sides = F.array(*(F.col(f"{side}.{partition}") for side in (BEFORE, AFTER)) if partition else ())
    folder = F.explode(F.array_distinct(sides)) if partition else F.lit("")
    counts = {row["kind"]: row["count"] for row in difference_df.groupBy(kind).count().collect()}
    touched = {row[0] for row in difference_df.select(folder.alias("partition")).distinct().collect()} - {None}
    partitions = tuple(sorted(map(str, touched)))
    return RewritePlan(
        mart=name,
        partitions=partitions if partition else (),
        new=counts.get("new", 0),
        changed=counts.get("changed", 0),
        gone=counts.get("gone", 0),
        bytes=newest_bytes(path, [f"{partition}={value}" for value in partitions] if partition else [""]),
        downstream=tuple(reader.name for reader in spec.readers_of(name)),
    )


def newest_bytes(path: str, folders: Sequence[str]) -> int:
    """Bytes of the newest base file of every file group in these folders of a table."""
    files, total = Filesystem(path), 0
    for folder in folders:
        newest: dict[str, tuple[Instant, int]] = {}
        for entry in files.list_files(folder):
            name = entry.path.rsplit("/", 1)[-1]
            if name.endswith(".parquet"):
                group, _, instant = name.removesuffix(".parquet").split("_", 2)  # <file group>_<write token>_<instant>
                newest[group] = max(newest.get(group, (BEGINNING, 0)), (Instant(instant), entry.size))
        total += sum(size for _, size in newest.values())
    return total


def _abridged(partitions: Sequence[str]) -> str:
    if not partitions:
        return "-"
    span = partitions[0] if len(partitions) == 1 else f"{partitions[0]} to {partitions[-1]}"
    return f"{len(partitions)} ({span})"
