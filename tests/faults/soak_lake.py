"""The lake of the soak: the campaign's small one, with services that are often due, in a metastore that Trino reads.

The table is copy-on-write, because Trino does not read log files; the mart and the quality results are not, and are
compared in their base files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from local_stack.demos.engines import TrinoLake
from local_stack.demos.lake_view import read_with_rust
from local_stack.demos.truth_check import same_rows
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.timeline import Timeline
from tests.faults.small_lakes import LAYER, SmallLake, Units, make_small_lake
from tests.faults.soak_readers import Look, Seen
from tests.faults.verdicts import SPARK
from tests.support.envelopes import line, sqlserver

DATABASE = "soak"
TRINO, RUST = "Trino", "Rust"
TABLE = "sales"
JOBS: tuple[tuple[str, dict[str, Any]], ...] = (("ingest", {}), ("split", {}), ("mart", {"layer": LAYER}))
"""What a driver does in a turn: each commits."""
SALES, BATCH, UNITS = 200, 20, 90
_SERVICES = {
    "compact_log_files": 2,
    "cluster_small_files": 4,
    "keep_hours": 1,
    "keep_commits": 2,
    "clean_files": 4,
    "archive_commits": 12,
}


def batch_of(turn: int) -> Units:
    """Sales that move to another unit in a turn: other sales each time, so that every state is another one."""
    return {(turn * 7 + number) % SALES: turn % UNITS for number in range(BATCH)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakLake(SmallLake):
    """Such a lake, whose services see files as old that were written ``kept_for`` ago."""

    catalog: str
    trino: str
    kept_for: timedelta

    @property
    def settings(self) -> Settings:
        return replace(super(SoakLake, self).settings, catalog=self.catalog, catalog_database=DATABASE)

    @property
    def in_trino(self) -> TrinoLake:
        spec = load_lake_spec(self.settings.lake_spec)
        return TrinoLake(address=self.trino, database=DATABASE, spec=spec, settings=self.settings)

    def land_turn(self, turn: int) -> None:
        """The file of a turn."""
        rows = [{"SaleId": sale, "UnitId": unit} for sale, unit in batch_of(turn).items()]
        self.land(f"{turn:05}.jsonl", [line(sqlserver("u", row, 10 + turn)) for row in rows])

    def serve_tables(self) -> None:
        """Run the services that are due, by a clock at which an hour has passed since ``kept_for`` ago."""
        clock = datetime.now(UTC) + timedelta(hours=1) - self.kept_for
        self.run("services", clock=clock, action="run", service=None, all=False)

    def differences(self) -> list[str]:
        """Between Spark, the Rust reader and Trino, in every column of every row, once the catalog is up to date."""
        self.run("sync", action="apply")
        names = [name for name in load_lake_spec(self.settings.lake_spec).table_names if self._has_commit(name)]
        wrong = self.in_trino.differences(names)
        for name in names:
            wrong += same_rows(name, self.rows_by_spark(name), self.rows(name))
        return wrong

    def looks(self) -> dict[str, Look]:
        """How each reader sees the table; Spark in a session of its own, as settings of services are of theirs."""
        session, path, trino = self.spark.newSession(), self.path(TABLE), self.in_trino

        def by_spark() -> Seen:
            rows = session.read.format("hudi").load(path).select("sale_id", "unit_id").collect()
            return Counter((row["sale_id"], row["unit_id"]) for row in rows)

        def by_rust() -> Seen:
            return Counter((row["sale_id"], row["unit_id"]) for row in read_with_rust(path))

        def by_trino() -> Seen:
            return Counter((row["sale_id"], row["unit_id"]) for row in trino.rows(TABLE))

        return {SPARK: by_spark, RUST: by_rust, TRINO: by_trino}

    def _has_commit(self, table: str) -> bool:
        return Timeline(table=table, path=self.path(table)).last is not None


def make_soak_lake(spark: SparkSession, folder: Path, *, catalog: str, trino: str, kept_for: timedelta) -> SoakLake:
    """An empty lake."""
    made = make_small_lake(spark, folder)
    document = yaml.safe_load(made.spec.read_text(encoding="utf-8"))
    document["services"] = _SERVICES
    for table in document["tables"]:
        table["type"] = "copy_on_write"
    made.spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return SoakLake(spark=spark, folder=folder, spec=made.spec, catalog=catalog, trino=trino, kept_for=kept_for)
