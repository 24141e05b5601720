"""Lakes whose tables get their services at once: small targets, and a clock at which everything is old."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.lake_spec.services import Service
from tests.support.lakes import NARROW, Lake, SpecLake, read_shipped_spec, write_spec
from tests.support.mart_lakes import copy_mart

HUNGRY = {
    "compact_log_files": 2,
    "compact_minutes": None,
    "cluster_small_files": 2,
    "keep_hours": 1,
    "keep_commits": 1,
    "clean_files": 1,
    "archive_commits": 3,
}

NO_PROMISE = {"behind_minutes": 0, "event_minutes": 0}


def make_hungry(spec: Path) -> None:
    """Let the services of a lake spec be due at the first occasion."""
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    document["services"] = HUNGRY
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def write_hungry_spec(folder: Path) -> Path:
    """The shipped spec with ``NARROW`` of its tables and services that are always due."""
    return write_spec(folder, {**read_shipped_spec(NARROW), "services": HUNGRY})


def make_service_lake(
    spark: SparkSession, folder: Path, *, marts: Sequence[str] = (), tables: Collection[str] = NARROW
) -> SpecLake:
    """An empty lake of the shipped spec whose services are always due, and whose tables may be of any age.

    ``marts``: those that it has, without what is expected of them; by default all. ``tables``: none means all.
    """
    (folder / "landing").mkdir(exist_ok=True)
    document = {**read_shipped_spec(tables), "services": HUNGRY, "freshness": NO_PROMISE}
    if marts:
        (folder / "marts").mkdir()
        for mart in marts:
            copy_mart(PROJECT_ROOT / "include" / "marts" / f"{mart}.yaml", folder / "marts")
        document["marts"] = "marts"
        del document["expectations"]
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


def run_services(lake: Lake, rng: random.Random) -> JobResult:
    """What is due at a time when everything there is was written long ago; sometimes one service alone."""
    later = datetime.now(UTC) + timedelta(days=2)
    service = rng.choice([None, None, *(service.value for service in Service)])
    return lake.run("services", clock=later, action="run", service=service, all=rng.random() < 0.2)
