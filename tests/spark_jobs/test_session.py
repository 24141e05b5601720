"""How a job gets its session."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.session_rules import TUNABLE
from spark_jobs.contracts.settings import Settings
from spark_jobs.python_tasks import map_batches
from spark_jobs.session import Sessions
from spark_jobs.storage.options import build_procedure_options

pytestmark = pytest.mark.spark
_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"


def test_a_column_searches_no_jar(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    """PySpark looks its functions up in Java for every column; the session has them since it was opened."""
    searched: list[str] = []
    names = type(spark.sparkContext._jvm)
    monkeypatch.setattr(names, "__getattr__", lambda _self, name: searched.append(name))
    assert str(F.lower(F.col("a"))) == "Column<'lower(a)'>"
    assert searched == []


def test_a_task_of_python_searches_no_jar(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    """Nor is each part of a class's name searched for: none of them but the last is one."""
    searched: list[str] = []
    java: Any = spark.sparkContext._jvm
    for kind in (type(java), type(java.java)):
        monkeypatch.setattr(kind, "__getattr__", lambda _self, name: searched.append(name))
    assert map_batches(spark.range(1), lambda batches: batches, "id bigint").columns == ["id"]
    assert searched == []


def test_sessions_side_by_side_have_the_same_settings_and_views_of_their_own(spark: SparkSession):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "12345")
    try:
        with Sessions(spark, Settings()) as sessions, sessions.one() as first, sessions.one() as second:
            assert first is spark
            assert second is not spark
            names = [
                name for name in (*TUNABLE, *build_procedure_options()) if name.startswith(("spark.sql.", "hoodie"))
            ]
            assert [second.conf.get(name, "") for name in names] == [spark.conf.get(name, "") for name in names]
            assert second.conf.get("spark.sql.autoBroadcastJoinThreshold") == "12345"
            second.range(3).createOrReplaceTempView("rows_of_one")
            assert not first.catalog.tableExists("rows_of_one")
            first.conf.set(_VECTORIZED, "true")
            second.conf.set(_VECTORIZED, "false")
            assert first.conf.get(_VECTORIZED) == "true"
        assert spark.range(2).count() == 2, "the engine goes on"
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_a_session_is_used_again_by_the_next_thread(spark: SparkSession):
    with Sessions(spark, Settings()) as sessions:
        with sessions.one() as first, sessions.one() as second:
            pass
        with sessions.one() as third, sessions.one() as fourth:
            assert {id(third), id(fourth)} == {id(first), id(second)}
