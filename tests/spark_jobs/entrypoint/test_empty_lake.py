"""The first run of every scheduled DAG on a new installation: it may come before anything was ingested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.results import NOTHING_TO_DO
from spark_jobs.entrypoint import parse_arguments
from tests.support.contexts import CLOCK, run_in
from tests.support.lakes import Lake

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
    context = parse_arguments([*command.split(), "--clock", CLOCK.isoformat()])
    result = run_in(replace(context, settings=lake.settings, session=lake.spark))
    assert result.status == NOTHING_TO_DO
    assert lake.instants() == {}
