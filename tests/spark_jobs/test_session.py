"""How a job gets its session."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark


def test_a_column_searches_no_jar(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    """PySpark looks its functions up in Java for every column; the session has them since it was opened."""
    searched: list[str] = []
    names = type(spark.sparkContext._jvm)
    monkeypatch.setattr(names, "__getattr__", lambda _self, name: searched.append(name))
    assert str(F.lower(F.col("a"))) == "Column<'lower(a)'>"
    assert searched == []
