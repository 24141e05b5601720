"""The log of a small history, in memory for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.small_histories import HISTORY


@pytest.fixture(scope="module")
def log_df(spark: SparkSession) -> Iterator[DataFrame]:
    rows_df = HISTORY.log_rows(spark).cache()
    yield rows_df
    rows_df.unpersist()
