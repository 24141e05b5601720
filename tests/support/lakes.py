"""A lake in a temporary folder: run its jobs in the shared session, read its tables in two ways, compare them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from tests.support import oracle
from tests.support.contexts import CLOCK, context_of, run_in
from tests.support.envelopes import SQLSERVER_TOPIC, write_lines
from tests.support.oracle_marts import daily_deals, hourly_events

PIPELINE: tuple[tuple[str, dict[str, Any]], ...] = (("ingest", {}), ("split", {}), ("mart", {"layer": "fast"}))
"""The jobs from the landing folder to the fast layer, with their options."""
NARROW = ("units", "agents", "sales")
"""Of the shipped tables those that marts read, that people are erased from, and that deletes concern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """Landing folder, tables and the session they are worked on with."""

    spark: SparkSession
    folder: Path

    @property
    def settings(self) -> Settings:
        """As a user would set them, with short waits; with the spec in the folder, if there is one.

        Times of made events have nothing to do with their positions, so none of them falls.
        """
        spec = self.folder / "sales.yaml"
        own: dict[str, Any] = {"lake_spec": str(spec)} if spec.exists() else {}
        return Settings(
            base_path=str(self.folder / "lake"),
            landing_path=str(self.folder / "landing"),
            lease_wait_seconds=60,
            source_skew_seconds=10**9,
            **own,
        )

    def land(self, name: str, lines: Iterable[bytes], *, topic: str = SQLSERVER_TOPIC, is_gzip: bool = False) -> Path:
        """Put a file into the landing folder."""
        return write_lines(self.folder / "landing" / topic / name, lines, is_gzip=is_gzip)

    def run(self, job: str, *, clock: datetime = CLOCK, interval: Interval | None = None, **options: Any) -> JobResult:
        """Run a job as the entrypoint does."""
        return run_in(context_of(job, self.settings, spark=self.spark, clock=clock, interval=interval, **options))

    def path(self, table: str) -> str:
        """The folder of a table."""
        return self.settings.table_path(table)

    def instants(self) -> dict[str, list[str]]:
        """Names of the completed commits of every table."""
        names = {}
        for table in sorted((self.folder / "lake").glob("[a-z]*")):
            files = [file.name for file in (table / ".hoodie").glob("*commit")]
            names[table.name] = sorted(files)
        return names

    def rows_by_spark(self, table: str) -> list[dict[str, Any]]:
        """Rows as Spark reads them, which takes a third of a second: where it matters that both readers agree."""
        if not Path(self.path(table)).exists():
            return []
        rows = self.spark.read.format("hudi").load(self.path(table)).collect()
        return in_order(row.asDict() for row in rows)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows as the other implementation of Hudi reads them, the Rust reader: no JVM takes part in it."""
        from hudi import HudiTableBuilder

        if not Path(self.path(table)).exists():
            return []
        batches = HudiTableBuilder.from_base_uri(self.path(table)).build().read()
        return in_order(row for batch in batches for row in batch.to_pylist())


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecLake(Lake):
    """A lake with a spec file of its own."""

    spec: Path

    @property
    def settings(self) -> Settings:
        return replace(super(SpecLake, self).settings, lake_spec=str(self.spec))


def read_shipped_spec(tables: Container[str] = ()) -> dict[str, Any]:
    """The document of the shipped lake spec, good in any folder; with these of its seven tables, or all.

    Several made sources are one in it, whose keys never meet.
    """
    text = (PROJECT_ROOT / "include" / "lakes" / "sales.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.load(text.replace("../", f"{PROJECT_ROOT / 'include'}/"), yaml.CSafeLoader)
    document["source"]["origins"] = "by_position"
    if tables:
        document["tables"] = [table for table in document["tables"] if table["name"] in tables]
        keys = {table["key"] for table in document["tables"]}
        document["people"] = {name: person for name, person in document["people"].items() if person["key"] in keys}
    return document


def write_spec(folder: Path, document: Mapping[str, Any]) -> Path:
    """The file of a lake spec in a folder."""
    spec = folder / "sales.yaml"
    spec.write_text(yaml.safe_dump(dict(document), sort_keys=False), encoding="utf-8")
    return spec


def make_narrow_lake(spark: SparkSession, folder: Path) -> SpecLake:
    """An empty lake of the shipped spec with ``NARROW`` of its tables: runs take half of the time of seven."""
    (folder / "landing").mkdir(exist_ok=True)
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, read_shipped_spec(NARROW)))


def copy_lake(made: SpecLake, folder: Path) -> SpecLake:
    """A copy of a lake that several tests begin with; the spec is in its folder."""
    shutil.copytree(made.folder, folder, dirs_exist_ok=True)
    return replace(made, folder=folder, spec=folder / made.spec.name)


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by key, since a table has no order; without Hudi's own columns."""
    return [without_hudi_columns(row) for row in sorted(rows, key=lambda row: str(row["_hoodie_record_key"]))]


def without_hudi_columns(row: dict[str, Any]) -> dict[str, Any]:
    """The row without Hudi's own columns; times in UTC."""
    return {name: in_utc(value) for name, value in row.items() if not name.startswith("_hoodie")}


def in_utc(value: Any) -> Any:
    """Spark returns times without a zone, in UTC."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


def keyed(rows: list[dict[str, Any]], table: str) -> dict[int, dict[str, Any]]:
    """Rows in the oracle's form; fails when a key occurs twice."""
    key, columns = oracle.TABLES[table]
    assert [k for k, n in Counter(row[key] for row in rows).items() if n > 1] == []
    wanted = (*columns, "is_deleted") if table == "sales" else columns
    return {row[key]: {name: row[name] for name in wanted} for row in rows}


def tables_by_spark(lake: Lake) -> oracle.Tables:
    """The entity tables as Spark reads them."""
    return {table: keyed(lake.rows_by_spark(table), table) for table in tables_of(lake)}


def tables_by_rust_reader(lake: Lake) -> oracle.Tables:
    """The entity tables as the Rust reader reads them."""
    return {table: keyed(lake.rows(table), table) for table in tables_of(lake)}


def tables_of(lake: Lake) -> list[str]:
    """Names of the tables that the lake's spec splits the log into: seven, when it is the shipped one."""
    document = yaml.load(Path(lake.settings.lake_spec).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return [table["name"] for table in document["tables"]]


def folded_tables(lake: Lake, events: Iterable[oracle.Event]) -> oracle.Tables:
    """What the oracle says of the tables that the lake has."""
    folded = oracle.fold(events)
    return {table: folded[table] for table in tables_of(lake)}


def assert_equals_oracle(lake: Lake, lines: Iterable[bytes]) -> None:
    """Tables, log and quarantine hold what ``lines`` say, by both readers."""
    events, unusable = oracle.read_lines(lines)
    expected = folded_tables(lake, events)
    assert tables_by_spark(lake) == expected
    assert tables_by_rust_reader(lake) == expected
    logged = Counter(row["event_id"] for row in lake.rows("sales_log"))
    assert (len(logged), set(logged.values())) == (len(events), {1})
    rejected = Counter(bytes(row["raw"]) for row in lake.rows("quarantine"))
    assert rejected == Counter(unusable)


def assert_marts_equal_oracle(lake: Lake, lines: Iterable[bytes], clock: datetime) -> None:
    """Both marts hold what they must at ``clock``, each cell once; the keys are the grain."""
    events, _ = oracle.read_lines(lines)
    hourly, daily = lake.rows("fast_hourly_events"), lake.rows("fast_daily_deals")
    assert len({row["cell_id"] for row in hourly}) == len(hourly)
    assert len({row["cell_id"] for row in daily}) == len(daily)
    counts = {(row["event_hour"], row["project_id"], row["status_id"]): row["events"] for row in hourly}
    assert counts == hourly_events(events, clock)
    deals = {(row["day"], row["project_id"], row["agent_id"]): (row["deals"], row["contract_total"]) for row in daily}
    assert deals == daily_deals(oracle.fold(events), clock)
