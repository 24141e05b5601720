"""Lakes whose tables get their services at once: small targets, and a clock at which everything is old."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.services import Service
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.lakes import Lake, SpecLake
from tests.support.mart_lakes import copy_mart

HUNGRY = {
    "compact_log_files": 2,
    "cluster_small_files": 2,
    "keep_hours": 1,
    "keep_commits": 1,
    "clean_files": 1,
    "archive_commits": 3,
}


def make_hungry(spec: Path) -> None:
    """Let the services of a lake spec be due at the first occasion."""
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    document["services"] = HUNGRY
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def write_hungry_spec(folder: Path) -> Path:
    """The shipped spec with services that are always due."""
    spec = folder / "sales.yaml"
    source = PROJECT_ROOT / "include" / "lakes" / "sales.yaml"
    spec.write_text(source.read_text(encoding="utf-8").replace("../", f"{PROJECT_ROOT / 'include'}/"), encoding="utf-8")
    make_hungry(spec)
    return spec


def make_service_lake(
    spark: SparkSession, folder: Path, *, marts: Sequence[str] = (), tables: Collection[str] = ()
) -> SpecLake:
    """An empty lake of the shipped spec whose services are always due; with all marts and tables, or these alone."""
    (folder / "landing").mkdir(exist_ok=True)
    spec = write_hungry_spec(folder)
    if marts:
        _keep(spec, marts, tables)
    return SpecLake(spark=spark, folder=folder, spec=spec)


def _keep(spec: Path, marts: Sequence[str], tables: Collection[str]) -> None:
    """Take the other marts and tables out of a lake spec, and what is expected of them."""
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    (spec.parent / "marts").mkdir()
    for mart in marts:
        copy_mart(PROJECT_ROOT / "include" / "marts" / f"{mart}.yaml", spec.parent / "marts")
    document["marts"] = "marts"
    document["tables"] = [table for table in document["tables"] if table["name"] in tables]
    del document["expectations"]
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def run_services(lake: Lake, rng: random.Random) -> JobResult:
    """What is due at a time when everything there is was written long ago; sometimes one service alone."""
    later = datetime.now(UTC) + timedelta(days=2)
    service = rng.choice([None, None, *(service.value for service in Service)])
    return lake.run("services", clock=later, action="run", service=service, all=rng.random() < 0.2)
