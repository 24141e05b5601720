"""The finished lake as two readers see it: Spark over the Connect server, and Hudi's own Rust reader."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from local_stack.demos.truth_check import IS_DELETED, Truth, check_count, check_reasons, check_table, same_rows
from local_stack.servers.bucket import storage_options
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.s3 import is_s3
from spark_jobs.storage.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """One table: its rows by either reader, and when it was last committed."""

    name: str
    spark: Rows
    rust: Rows
    instant: Instant

    @property
    def live(self) -> Rows:
        """What people see: without the tombstones."""
        return [row for row in self.spark if not row.get(IS_DELETED)]

    def age(self, now: datetime) -> float:
        """Seconds since the last commit."""
        return (now - datetime.strptime(self.instant[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)).total_seconds()


def view_lake(spec: LakeSpec, settings: Settings) -> dict[str, TableView]:
    """Read every table that was made with both readers; a mart whose layer never ran is not there."""
    # Its own class, and not the one that is either kind: the process may have a session of the other kind.
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    os.environ["TZ"] = "UTC"
    time.tzset()
    spark = RemoteSession.builder.remote(settings.spark_remote).getOrCreate()
    try:
        views = {}
        for name in spec.table_names:
            path = settings.table_path(name)
            if instant := Timeline(table=name, path=path).last:
                views[name] = TableView(
                    name=name, spark=_spark_rows(spark, path), rust=read_with_rust(path), instant=instant
                )
        return views
    finally:
        spark.stop()


def _spark_rows(spark: SparkSession, path: str) -> Rows:
    from spark_jobs.storage.reader import read_snapshot

    return [row.asDict(recursive=True) for row in read_snapshot(spark, path).collect()]


def read_with_rust(path: str, options: Mapping[str, str] | None = None) -> Rows:
    """Rows of a table by Hudi's Rust reader, without Hudi's own columns; no JVM. ``options`` are the reader's."""
    from hudi import HudiTableBuilder

    builder = HudiTableBuilder.from_base_uri(path).with_hudi_options(dict(options or {}))
    if is_s3(path):
        builder = builder.with_storage_options(storage_options(os.environ))
    batches = builder.build().read()
    rows = (row for batch in batches for row in batch.to_pylist())
    return [{name: value for name, value in row.items() if not name.startswith("_hoodie_")} for row in rows]


def rows_of(views: Mapping[str, TableView], table: str, reader: str) -> Rows:
    """Rows of a table by ``spark`` or ``rust``; none when it was never made, as with an empty quarantine."""
    rows: Rows = getattr(views[table], reader) if table in views else []
    return rows


def check_lake(views: Mapping[str, TableView], truth: Truth, spec: LakeSpec) -> list[str]:
    """Everything in which the lake is not the truth, or the two readers do not agree; empty when all is well."""
    wrong: list[str] = []
    for view in views.values():
        wrong += same_rows(view.name, view.spark, view.rust)
    for table in spec.tables:
        for reader, rows in (("Spark", views[table.name].spark), ("the Rust reader", views[table.name].rust)):
            wrong += check_table(table, rows, truth, spec, reader=reader)
    for reader in ("spark", "rust"):
        wrong += check_count(f"events in {spec.log} ({reader})", len(getattr(views[spec.log], reader)), truth.events)
        reasons = Counter(row["reason"] for row in rows_of(views, spec.quarantine, reader))
        wrong += check_reasons(reasons, truth)
    return wrong
