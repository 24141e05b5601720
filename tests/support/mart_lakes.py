"""Lakes whose marts are the shipped ones and those that the tests alone declare (tests/data/marts)."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.storage.timeline import Timeline
from tests.support.lakes import NARROW, Lake, SpecLake, read_shipped_spec, write_spec
from tests.support.oracle import Event

TEST_MARTS = PROJECT_ROOT / "tests" / "data" / "marts"
LAYERS = ("fast", "stitch", "slow", "test")


def make_mart_lake(
    spark: SparkSession,
    folder: Path,
    *,
    time_zone: str = "UTC",
    layers: Sequence[str] = LAYERS,
    without: Sequence[str] = (),
) -> SpecLake:
    """An empty lake of that time zone with the marts of ``layers``, and only those tables that they read.

    ``without``: marts of these layers that the lake does not have.
    """
    (folder / "marts").mkdir()
    read = {
        name
        for source in (PROJECT_ROOT / "include" / "marts", TEST_MARTS)
        for name in _copy(source, folder, layers, without)
    }
    document = {**read_bare_spec(read), "time_zone": time_zone, "marts": "marts"}
    (folder / "landing").mkdir(exist_ok=True)
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


def make_lake_without_marts(spark: SparkSession, folder: Path) -> SpecLake:
    """An empty lake with ``NARROW`` of the shipped tables: split writes no feeds for marts, and nothing is expected."""
    document = read_bare_spec(NARROW)
    del document["marts"]
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


def read_bare_spec(tables: Container[str]) -> dict[str, Any]:
    """The document of the shipped spec with these tables, no people to erase, and nothing expected."""
    document = read_shipped_spec(tables)
    del document["people"], document["expectations"]
    return document


def _copy(source: Path, folder: Path, layers: Container[str], without: Container[str]) -> Iterator[str]:
    """Copy the marts of these layers; gives the tables that they read."""
    for path in sorted(source.glob("*.yaml")):
        mart = yaml.safe_load(path.read_text(encoding="utf-8"))
        if mart["layer"] in layers and mart["name"] not in without:
            copy_mart(path, folder / "marts")
            yield from (read["table"] for read in mart["reads"])


def copy_mart(path: Path, folder: Path) -> None:
    """Copy the declaration of a mart and its SQL."""
    for file in (path, path.with_suffix(".sql")):
        shutil.copy(file, folder)


def logged_events(lake: Lake) -> list[Event]:
    """The events that are in the log now, read by the Rust reader, in the order of the log's own text."""
    events = []
    for row in lake.rows("sales_log"):
        known = {name: value for name, value in row.items() if value is not None}
        order = ((0,), f"{row['event_order']}/{row['event_id']}")
        events.append(Event(origin="", order=order, op=row["op"], time=row["event_time"], row=known))
    return sorted(events, key=lambda event: event.order)


def cells(lake: Lake, mart: str, *grain: str) -> dict[Any, dict[str, Any]]:
    """Rows of a mart by its grain (a single column's value, or a tuple), by the Rust reader; each once."""
    rows = lake.rows(mart)
    found = {tuple(row[name] for name in grain) if len(grain) > 1 else row[grain[0]]: row for row in rows}
    assert len(found) == len(rows), f"{mart}: a cell is there twice"
    return {
        key: {name: value for name, value in row.items() if name != "cell_id" and "__" not in name}
        for key, row in found.items()
    }


def take_commits_away(lake: Lake, table: str, count: int) -> None:
    """What a restore does to a timeline: the newest commits are gone, and with them what they wrote.

    A service among them stays, and nothing happens: what was there before it may have been cleaned away.
    """
    folder = Path(lake.path(table)) / ".hoodie"
    timeline = Timeline(table=table, path=lake.path(table))
    newest = timeline.writes[-count:]
    for write in () if any(map(timeline.is_service, newest)) else newest:
        for file in folder.glob(f"*{write.time}.*"):
            file.unlink()
