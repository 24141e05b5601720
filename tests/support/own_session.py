"""Jobs in a session of this process, which was started to have one: with an environment of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.session import open_session
from tests.support.contexts import context_of, run_in

_opened: list[SparkSession] = []


def run_in_own_session(settings: Settings, job: str, clock: datetime, options: dict[str, Any]) -> str:
    """The status of a job; the session is opened by the first one."""
    if not _opened:
        _opened.append(open_session(settings, app_name="lakehouse-tests-own"))
    return run_in(context_of(job, settings, spark=_opened[0], clock=clock, **options)).status


def close_own_session() -> None:
    """Stop the session, when there is one."""
    while _opened:
        _opened.pop().stop()


def close_engine(spark: SparkSession) -> None:
    """Stop a session and its JVM: heartbeats that are not stopped would go on to write, whatever is removed."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()
