"""The first run of every scheduled DAG on a new installation: it may come before anything was ingested."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.results import NOTHING_TO_DO
from spark_jobs.entrypoint import parse_arguments
from tests.support.lakes import CLOCK, Lake

pytestmark = pytest.mark.hudi

SCHEDULED = (
    "ingest",
    "split",
    "mart --layer fast",
    "serve --layer fast",
    "mart --layer stitch",
    "serve --layer stitch",
    "mart --layer slow",
    "services plan",
    "savepoint create --label day --keep 3",
)


@pytest.mark.parametrize("command", SCHEDULED)
def test_a_scheduled_job_has_nothing_to_do(spark: SparkSession, tmp_path: Path, command: str) -> None:
    lake = Lake(spark=spark, folder=tmp_path)
    (tmp_path / "landing").mkdir()
    arguments = parse_arguments([*command.split(), "--clock", CLOCK.isoformat()])
    result = lake.run(arguments.job, clock=arguments.clock, **arguments.options)
    assert result.status == NOTHING_TO_DO
    assert lake.instants() == {}
