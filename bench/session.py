"""The one session of a benchmark run: the product's settings on two cores, plus what its peers need."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.jars import find_jars
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.session import build_session_options, keep_java_names, use_java_17

PEER_JARS = PROJECT_ROOT / ".jars-bench"
CORES = 2


def open_bench_session(
    settings: Settings,
    *,
    folder: Path,
    with_peers: bool,
    event_log: Path | None = None,
    master: str = f"local[{CORES}]",
    extra: Mapping[str, str] | None = None,
    more_jars: Iterable[str] = (),
) -> SparkSession:
    """A warm-able session in this process; tables of the peers are below ``folder``, ``extra`` are more options."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    use_java_17()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = build_session_options(settings)
    jars = [*find_jars(settings), *more_jars]
    if with_peers:
        jars += sorted(str(jar) for jar in PEER_JARS.glob("*.jar"))
        options["spark.sql.extensions"] += (
            ",org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.delta.sql.DeltaSparkSessionExtension"
        )
        # Delta finds tables by their path through this catalog alone; our own path needs none.
        options["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        options["spark.sql.catalog.iceberg"] = "org.apache.iceberg.spark.SparkCatalog"
        options["spark.sql.catalog.iceberg.type"] = "hadoop"
        options["spark.sql.catalog.iceberg.warehouse"] = str(folder / "iceberg")
    if event_log is not None:
        event_log.mkdir(parents=True, exist_ok=True)
        options["spark.eventLog.enabled"] = "true"
        options["spark.eventLog.dir"] = event_log.as_uri()
    builder = SparkSession.builder.appName("bench").master(master).config("spark.jars", ",".join(jars))
    for key, value in {**options, **(extra or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    keep_java_names(spark)
    return spark
