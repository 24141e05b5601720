"""The partitions of a table: what is in them, and removing whole ones in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.layouts import COMMIT_TIME, TableLayout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.services.purge import finish_plans
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import Commit, commit, fit_layout

_PATH = "_hoodie_partition_path"
OPERATION_KEY = "operation"
"""In a commit of a loaded table: in the words of the lake spec, what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition as readers of the newest state find it: ``path`` is its folder below the table's."""

    path: str
    files: int
    bytes: int
    began: str
    """When the newest of its files was begun."""

    @property
    def value(self) -> str:
        """What the partition column is in it."""
        return self.path.partition("=")[2]


def find_partitions(layout: TableLayout, settings: Settings) -> list[Partition]:
    """Every partition that has files, by its path, from the listing and the timeline: without Spark."""
    state = TableState.look(layout, settings.table_path(layout.name))
    files: Counter[str] = Counter()
    began: dict[str, str] = {}
    for group in state.live_groups:
        slices = [each for each in state.read_slices(group) if each.files]
        files[group.partition] += sum(len(each.files) for each in slices)
        began[group.partition] = max([began.get(group.partition, ""), *(each.instant for each in slices)])
    sizes = state.read_bytes()
    return [
        Partition(path=path, files=count, bytes=sizes[path], began=began[path])
        for path, count in sorted(files.items())
        if count
    ]


def count_rows(spark: SparkSession, layout: TableLayout, settings: Settings) -> Mapping[str, tuple[int, str]]:
    """Of each partition that has rows, how many, and the newest commit that wrote one of them."""
    rows_df = spark.read.format("hudi").load(settings.table_path(layout.name))
    counted_df = rows_df.groupBy(_PATH).agg(F.count("*").alias("rows"), F.max(COMMIT_TIME).alias("newest"))
    return {row[_PATH]: (int(row["rows"]), row["newest"]) for row in counted_df.collect()}


def delete_partitions(
    spark: SparkSession, layout: TableLayout, timeline: Timeline, paths: Collection[str], settings: Settings
) -> Commit:
    """Remove the partitions in one commit. The caller holds the leases of the table and of its services.

    Files stay until clean takes them, for readers of older states.

    Raises:
        TransientError: a partition is still there; run it again.
    """
    finish_plans(spark, layout, settings)
    nothing_df = read_stored(spark, timeline.path).limit(0)
    done = commit(
        nothing_df,
        fit_layout(layout, timeline),
        metadata={OPERATION_KEY: Operation.DELETE_PARTITIONS.value},
        settings=settings,
        operation=Operation.DELETE_PARTITIONS,
        partitions=sorted(paths),
    )
    if left := sorted({each.path for each in find_partitions(layout, settings)} & set(paths)):
        raise TransientError(f"{layout.name}: partitions {', '.join(left)} are still there; run it again")
    return done
