"""Lakes of the shipped spec in which a few expectations more are declared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.quality.verdicts import QUALITY_KEY
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.lakes import NARROW, Lake, SpecLake, read_shipped_spec, write_spec


def make_expecting_lake(
    spark: SparkSession,
    folder: Path,
    expectations: Mapping[str, Mapping[str, Any]],
    *,
    keeps_shipped: bool = True,
    tables: Container[str] = NARROW,
) -> SpecLake:
    """An empty lake with these tables, or all; of each the expectations by name, as its file would say them."""
    shipped = folder / "expectations"
    shutil.copytree(PROJECT_ROOT / "include" / "expectations", shipped)
    if not keeps_shipped:
        shutil.rmtree(shipped)
        shipped.mkdir()
    for table, entries in expectations.items():
        file = shipped / f"{table}.yaml"
        known = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(yaml.safe_dump({**known, **entries}, sort_keys=False), encoding="utf-8")
    (folder / "landing").mkdir()
    document = {**read_shipped_spec(tables), "expectations": "expectations"}
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


def quality_of(lake: Lake, table: str) -> dict[str, Any]:
    """What the newest commit of a table says of its quality."""
    timeline = Timeline(table=table, path=lake.path(table))
    found: dict[str, Any] = json.loads(timeline.newest_metadata(METADATA_PREFIX + QUALITY_KEY) or "{}")
    return found


def broken_rules(lake: Lake, table: str) -> dict[str, int]:
    """Of the newest commit, how many rows broke each expectation that some row broke."""
    return {name: broken for name, _, broken, outcome, _, _ in quality_of(lake, table)["rules"] if outcome != "held"}
