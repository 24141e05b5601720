"""Rows computed once and used many times, in a session that may be remote.

Over Spark Connect every use of a DataFrame sends its whole plan, and a plan resolved again is another one: a cache
filled through the first is not found through the second, and everything is computed again. A view keeps the resolved
plan on the server, so rows are pinned by name: registered, cached and used through the view.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession


def pin(spark: SparkSession, rows_df: DataFrame, name: str) -> str:
    """Register ``rows_df`` to be computed at first use and kept; gives the view's name, for ``spark.table``."""
    view = f"{name}_{uuid.uuid4().hex}"
    rows_df.createOrReplaceGlobalTempView(view)
    spark.catalog.cacheTable(f"global_temp.{view}")
    return f"global_temp.{view}"


def unpin(spark: SparkSession, view: str) -> None:
    """Give the rows' memory back and forget the name."""
    spark.catalog.uncacheTable(view)
    spark.catalog.dropGlobalTempView(view.removeprefix("global_temp."))


@contextmanager
def pinned(spark: SparkSession, rows_df: DataFrame, name: str) -> Iterator[DataFrame]:
    """The pinned rows, for the block."""
    view = pin(spark, rows_df, name)
    try:
        yield spark.table(view)
    finally:
        unpin(spark, view)
