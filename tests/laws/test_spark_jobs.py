"""How many Spark jobs each job of the chain starts for a small increment of a lake that has everything already.

Of a micro-batch most of the time goes into planning and starting Spark jobs, not into their tasks, so their numbers are
written here (ADR 46). Who needs one more says so by writing another number; who needs fewer too.

The lake has five sales of two months from its first batch. The second one has a sale of a third month, a correction and
a new status of older ones, an event that was delivered before, and a line that is no record.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.catalog import Catalog

from tests.support.envelopes import line, sqlserver
from tests.support.job_counts import counting_jobs
from tests.support.lakes import Lake
from tests.support.mart_lakes import make_mart_lake

pytestmark = pytest.mark.hudi

CHAIN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ingest", {}),
    ("split", {}),
    ("mart", {"layer": "stitch"}),
    ("mart", {"layer": "slow"}),
)
ALIKE = ("slow_unit_difficulty", "slow_agent_success")
"""Marts that are computed from the same table and by the same scopes as another one."""
MOST = {"ingest": 10, "split": 11, "stitch": 6, "slow": 23}
"""Two tables are split, both with a feed of changes; stitch is one mart and its cache, the slow layer four marts."""
NOVEMBER_MS, DAY_MS = 1_762_000_000_000, 24 * 60 * 60 * 1000


def sale(number: int, position: int, day: int, status: int = 1) -> bytes:
    """What happened to a sale so many days after the first of November."""
    row: dict[str, Any] = {
        "SaleId": number,
        "StatusId": status,
        "UnitId": number,
        "AgentId": 5,
        "CustomerId": number,
        "ProjectId": 1,
    }
    row |= {"UnitName": f"unit {number}", "ContractSubtotal": "100.0000"}
    moment = NOVEMBER_MS + day * DAY_MS
    return line(sqlserver("u", {**row, "ContractSigningDate": moment}, position, ts_ms=moment))


FIRST = [*(sale(number, number, number * 8, status=number % 4 + 1) for number in range(1, 6)), b"no record\n"]
SECOND = [
    *(sale(6, 16, 61), sale(2, 12, 50, status=7), sale(3, 13, 51, status=4)),
    *(FIRST[4], b"no record either\n"),
]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    made = make_mart_lake(spark, tmp_path, layers=("fast", "stitch", "slow"), without=ALIKE)
    made.land("first.jsonl", FIRST)
    for job, options in CHAIN:
        made.run(job, **options)
    made.land("second.jsonl", SECOND)
    return made


def test_no_job_starts_more_spark_jobs_than_it_did(lake: Lake, kept: set[str]) -> None:
    started, found = dict[str, list[str]](), session_state(lake.spark)
    for job, options in CHAIN:
        with counting_jobs(lake.spark) as jobs:
            result = lake.run(job, **options)
            started[options.get("layer", job)] = jobs.names()
        assert result.status == "done"
    print(*(f"{name}: {what}" for name, jobs_of in started.items() for what in jobs_of), sep="\n")
    counts = {name: len(jobs_of) for name, jobs_of in started.items()}
    assert not {name: count for name, count in counts.items() if count > MOST[name]}, counts
    assert session_state(lake.spark) == found, "a job that leaves its session to the next run leaves nothing in it"
    assert not kept, "nor any rows"


def session_state(spark: SparkSession) -> tuple[dict[str, str], list[str]]:
    """Settings and temporary views; not what is set again when a session is opened."""
    settings = {row.key: row.value for row in spark.sql("SET").collect()}
    settings.pop("spark.sql.parquet.enableVectorizedReader", None)
    return settings, [row.tableName for row in spark.sql("SHOW TABLES").collect() if row.isTemporary]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of rows that this process has pinned and not given back; the engine has those of others too."""
    names, cache, uncache = set[str](), Catalog.cacheTable, Catalog.uncacheTable

    def begin(catalog: Catalog, name: str) -> None:
        names.add(name)
        cache(catalog, name)

    def end(catalog: Catalog, name: str) -> None:
        uncache(catalog, name)
        names.discard(name)

    monkeypatch.setattr(Catalog, "cacheTable", begin)
    monkeypatch.setattr(Catalog, "uncacheTable", end)
    return names
