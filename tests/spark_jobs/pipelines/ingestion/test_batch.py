"""How the records of a batch are decoded: by which tasks, in how many jobs.

A batch of six parts, of one event each. Each record keeps, as the place where it was read, the stage that decoded it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.ingestion.batch import FEW_RECORDS, checked_batch
from spark_jobs.python_tasks import Batches, map_tasks
from spark_jobs.sources.decoding import RecordDecoder, decoded_schema
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import context_of
from tests.support.envelopes import line, sqlserver
from tests.support.job_counts import counting_jobs
from tests.support.lakes import Lake

pytestmark = pytest.mark.spark

PARTS = 6


def stages_and_jobs(spark: SparkSession, folder: Path, *, records: int) -> tuple[set[str], int]:
    """The stages that decoded a part of a batch of so many records, and the jobs that it took to look at it."""
    settings = Lake(spark=spark, folder=folder).settings
    context = context_of("ingest", settings, spark=spark, spec=read_lake_spec(settings))
    no_log = Timeline(table=context.spec.log, path=str(folder / "no log"))

    def decode(spec: LakeSpec) -> DataFrame:
        def take(numbers: Iterable[int]) -> Batches:
            decoder, task = RecordDecoder(spec), TaskContext.get()
            assert task is not None
            time.sleep(0.1)  # so that there is time for a task of another query to come
            for number in numbers:
                event = line(sqlserver("u", {"SaleId": number}, number))
                decoder.add(f"stage {task.stageId()}", number, event)
            yield decoder.flush()

        return map_tasks(spark, PARTS, take, decoded_schema(spec))

    with (
        counting_jobs(spark) as jobs,
        checked_batch(context, no_log, decode, name="parts", records=records, may_stop=False) as batch,
    ):
        count = len(jobs.names())
        assert batch.facts.usable == batch.facts.distinct == PARTS
        return {row["read_from"] for row in batch.decoded_df.select("read_from").collect()}, count


def test_parts_of_a_large_batch_are_decoded_side_by_side_by_tasks_of_one_query(spark: SparkSession, tmp_path: Path):
    stages, jobs = stages_and_jobs(spark, tmp_path, records=FEW_RECORDS + 1)
    assert (len(stages), jobs) == (1, 2)


def test_all_that_is_looked_for_in_few_records_is_looked_for_in_one_job(spark: SparkSession, tmp_path: Path):
    _, jobs = stages_and_jobs(spark, tmp_path, records=FEW_RECORDS)
    assert jobs == 1
