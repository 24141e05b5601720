"""DataFrames under names of their own, for the SQL of marts."""

from __future__ import annotations

import uuid
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.storage.pinned import pin, unpin


class Views:
    """Temporary views and pinned rows of one refresh; all are gone at the end of the block.

    Their names are new every time, so that refreshes side by side in one session do not meet. Over Spark Connect a
    DataFrame is resolved again at every use, so a view has to stay until everything made of it was carried out.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._views: list[str] = []
        self._pinned: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for view in reversed(self._pinned):
            unpin(self.spark, view)
        for view in reversed(self._views):
            self.spark.catalog.dropTempView(view)

    def name(self, rows_df: DataFrame, table: str) -> str:
        """Register rows and give their name."""
        view = f"{table}_{uuid.uuid4().hex}"
        rows_df.createOrReplaceTempView(view)
        self._views.append(view)
        return view

    def pin(self, rows_df: DataFrame, name: str) -> DataFrame:
        """The rows, computed once at first use and kept for the block."""
        view = pin(self.spark, rows_df, name)
        self._pinned.append(view)
        return self.spark.table(view)
