"""Lakes with tables that come as whole files, and what such tables hold by plain Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.lakes import SpecLake

RATES = {
    "key": ["currency", "day"],
    "partition": "day",
    "columns": [
        {"name": "currency", "type": "string"},
        {"name": "day", "type": "string", "comment": "of the bank"},
        {"name": "rate", "type": "decimal", "precision": 18, "scale": 8},
    ],
    "keep_days": 400,
}
LOADS: Sequence[Mapping[str, Any]] = (
    {"name": "merged_rates", **RATES, "buckets": 2},
    {"name": "copied_rates", **RATES, "type": "copy_on_write"},
    {
        "name": "budgets",
        "key": ["month", "team"],
        "partition": "month",
        "columns": [
            {"name": "team", "type": "bigint"},
            {"name": "month", "type": "timestamp"},
            {"name": "amount", "type": "decimal", "precision": 12, "scale": 2},
            {"name": "is_final", "source": "Final?", "type": "boolean"},
        ],
        "operation": "insert_overwrite",
        "type": "copy_on_write",
    },
    {
        "name": "countries",
        "key": "code",
        "columns": [{"name": "code", "type": "string"}, {"name": "name", "type": "string", "max_length": 20}],
        "operation": "insert_overwrite_table",
    },
)


def lake_document(loads: Iterable[Mapping[str, Any]] = LOADS) -> dict[str, Any]:
    """The shipped lake without marts and expectations, and with these loads."""
    path = PROJECT_ROOT / "include" / "lakes" / "sales.yaml"
    document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    del document["marts"], document["expectations"], document["services"]["tables"]
    return {**document, "loads": [dict(load) for load in loads]}


def make_loading_lake(
    spark: SparkSession, folder: Path, expectations: Mapping[str, Mapping[str, Any]] | None = None
) -> SpecLake:
    """An empty lake; of each table the expectations by name, as its file would say them."""
    document = lake_document()
    if expectations:
        document["expectations"] = "expectations"
        (folder / "expectations").mkdir()
        for table, entries in expectations.items():
            (folder / "expectations" / f"{table}.yaml").write_text(yaml.safe_dump(dict(entries)), encoding="utf-8")
    spec = folder / "lake.yaml"
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    (folder / "landing").mkdir(exist_ok=True)
    return SpecLake(spark=spark, folder=folder, spec=spec)


def write_csv(
    path: Path, rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ("currency", "day", "rate")
) -> Path:
    """The rows as CSV with a header; a value that is None is left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_json(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Path:
    """The rows as Parquet, values as text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    pq.write_table(pa.table(columns), path)
    return path


@dataclass
class RatesOracle:
    """What a table of rates must hold after loads and removals; rows are of currency, day and rate, all text."""

    rates: dict[tuple[str, str], Decimal | None] = field(default_factory=dict)
    quarantined: set[str] = field(default_factory=set)

    def load(self, operation: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        """Take the rows in; gives how many were read, written, quarantined and needless."""
        new: dict[tuple[str, str], Decimal | None] = {}
        broken = set()
        for row in rows:
            try:
                new[row["currency"], _day(row)] = None if operation == "delete" else _rate(row)
            except (ArithmeticError, ValueError):
                broken.add(json.dumps(row))
        written = self._write(operation, new)
        quarantined = len(broken - self.quarantined)
        self.quarantined |= broken
        return {
            "rows_read": len(rows),
            "rows_written": written,
            "rows_quarantined": quarantined,
            "rows_duplicates": len(rows) - written - quarantined,
        }

    def _write(self, operation: str, new: dict[tuple[str, str], Decimal | None]) -> int:
        known, days = self.rates, {day for _, day in new}
        if operation == "delete":
            self.rates = {key: rate for key, rate in known.items() if key not in new}
            return len(known) - len(self.rates)
        if operation in ("insert", "bulk_insert"):
            self.rates = {**new, **known}
            return len(self.rates) - len(known)
        if operation == "insert_overwrite_table":
            known = {} if new else known
        if operation == "insert_overwrite":
            known = {key: rate for key, rate in known.items() if key[1] not in days}
        self.rates = {**known, **new}
        return len(new)

    def delete_days(self, days: Iterable[str]) -> None:
        """Remove whole partitions."""
        self.rates = {key: rate for key, rate in self.rates.items() if key[1] not in set(days)}


def _day(row: Mapping[str, Any]) -> str:
    if not row["currency"]:
        raise ValueError
    return date.fromisoformat(row["day"]).isoformat()


def _rate(row: Mapping[str, Any]) -> Decimal | None:
    if not row["rate"]:
        return None
    exact = Decimal(row["rate"]).quantize(Decimal("1e-8"))
    if exact != Decimal(row["rate"]):
        raise ValueError
    return exact


def rates_of(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Decimal | None]:
    """Rows that a reader gave, in the oracle's form; fails when a key is there twice."""
    found = {(row["currency"], row["day"]): row["rate"] for row in rows}
    assert len(found) == len(rows), "a key is there twice"
    return found
