"""The cache of a stitch mart: an aggregate mart that is trusted no further than its checksums go."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from operator import xor
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.marts.computing import compute_full
from spark_jobs.marts.modes.aggregate import aggregate_difference
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.windows import TimeRange
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.transforms.cells import AFTER, BEFORE, cell_hash

CHECKSUMS = "checksums"
Checksums = dict[str, tuple[int, int]]
"""Number of cells and the exclusive or of their hashes, by partition."""


def move_cut(cache: Refresh) -> TableOutcome:
    """Bring the cache to the newest instant of its source: that is the new cut."""
    difference_df = aggregate_difference(cache)
    known = read_checksums(cache)
    came, left = (_checksums(_rows(difference_df, side), cache) for side in (AFTER, BEFORE))
    for partition in {*came, *left}:
        parts = [sums.get(partition, (0, 0)) for sums in (known, came, left)]
        count = parts[0][0] + parts[1][0] - parts[2][0]
        known[partition] = (count, xor(xor(parts[0][1], parts[1][1]), parts[2][1]))
    return cache.write(difference_df, {CHECKSUMS: json.dumps(known)})


def rebuild(cache: Refresh) -> TableOutcome:
    """Recompute every cell, whatever is stored."""
    result_df = cache.views.pin(compute_full(cache), "cells")
    checksums = _checksums(result_df, cache)
    return cache.write(cache.difference(result_df, cache.stored()), {CHECKSUMS: json.dumps(checksums)})


def is_intact(cache: Refresh, cells_df: DataFrame, partitions: TimeRange | None) -> bool:
    """True when the cells, all those of ``partitions`` (None for all), are those that were committed."""
    known = {
        partition: sums
        for partition, sums in read_checksums(cache).items()
        if sums[0] and (partitions is None or partitions.first <= partition <= partitions.last)
    }
    return known == _checksums(cells_df, cache)


def folders_of(cache: Refresh, partitions: TimeRange | None) -> list[str] | None:
    """The folders of the cache's table that have cells of these partitions; None for all of the table."""
    if partitions is None:
        return None
    values = {folder: unquote(folder.partition("=")[2]) for folder in Filesystem(cache.timeline.path).folders()}
    return [folder for folder, value in values.items() if partitions.first <= value <= partitions.last]


def fingerprint_of_files(cache: Refresh, folders: Sequence[str] | None) -> str:
    """Names, sizes and times of the files in these folders (None for all), and the cache's newest commit."""
    files = Filesystem(cache.timeline.path)
    listed = [""] if folders is None else folders
    found = [(e.path, e.size, e.modified_ns) for folder in listed for e in files.list_files(folder)]
    return hashlib.sha256(json.dumps([cache.timeline.newest, found]).encode()).hexdigest()


def read_checksums(cache: Refresh) -> Checksums:
    """What the cache's newest commit says its partitions hold."""
    text = cache.timeline.newest_metadata(METADATA_PREFIX + CHECKSUMS) or "{}"
    return {partition: (count, value) for partition, (count, value) in json.loads(text).items()}


def _checksums(cells_df: DataFrame, cache: Refresh) -> Checksums:
    columns = [name for name in cells_df.columns if name != CELL_ID]
    partition = F.col(cache.mart.partition).cast("string") if cache.mart.partition else F.lit("")
    totals_df = cells_df.groupBy(F.coalesce(partition, F.lit("")).alias("part")).agg(
        F.count(F.lit(1)).alias("cells"), F.bit_xor(cell_hash((CELL_ID, *columns))).alias("checksum")
    )
    return {row["part"]: (row["cells"], row["checksum"]) for row in totals_df.collect()}


def _rows(difference_df: DataFrame, side: str) -> DataFrame:
    return difference_df.where(F.col(side).isNotNull()).select(f"{side}.*")
