"""Eight generated businesses without a mistake in them: no rule of the shipped lake reports anything."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.generator.generation import generate
from spark_jobs.generator.request import Request
from spark_jobs.quality.verdicts import QUALITY_KEY
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.lakes import Lake, make_narrow_lake

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

CLOCK = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


@pytest.mark.slice(name="tables")
@pytest.mark.parametrize("seed", range(8))
def test_no_false_alarm(spark: SparkSession, tmp_path: Path, seed: int):
    lake = make_narrow_lake(spark, tmp_path)
    generate(Request(clock=CLOCK, seed=seed, events=400, rates={"broken": 0.0}), Path(lake.settings.landing_path))
    for job in ("ingest", "split"):
        assert lake.run(job, clock=CLOCK).messages == ()
    rules = [rule for table in ("sales_log", "sales", "agents", "units") for rule in stored_results(lake, table)]
    assert {outcome for _, _, _, outcome, _, _ in rules} == {"held"}
    checked = {name: rows for name, rows, *_ in rules}
    assert checked["signed_has_a_day"] > 10
    assert checked["amount_is_possible"] >= 400


def stored_results(lake: Lake, table: str) -> list[list[Any]]:
    """The results of rules in all commits of a table: name, rows checked and broken, outcome, figure, note."""
    timeline = Timeline(table=table, path=lake.path(table))
    texts = [timeline.metadata(write).get(METADATA_PREFIX + QUALITY_KEY) for write in timeline.writes]
    return [rule for text in texts if text for rule in json.loads(text)["rules"]]
