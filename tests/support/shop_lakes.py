"""Lakes whose tables are mirrors of a shop's, with a spec of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.table_spec import TECHNICAL
from tests.support.envelopes import Envelope
from tests.support.lakes import Lake
from tests.support.mirrors import line_of

TOPIC = "shop.shop.all"
HIDDEN = frozenset({*TECHNICAL, "_hoodie_is_deleted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopLake(Lake):
    """A lake with mirrors; ``spec`` is the path of its own spec."""

    spec: str

    @property
    def settings(self) -> Settings:
        return replace(super(ShopLake, self).settings, lake_spec=self.spec)

    def deliver(self, name: str, records: Iterable[Envelope]) -> None:
        """Put change events into the landing zone, and take them in."""
        self.land(name, map(line_of, records), topic=TOPIC)
        self.run("ingest")

    def live(self, table: str, *, key: Sequence[str], by_spark: bool = False) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Rows that are not deleted, by key, as a reader of the lake sees them."""
        rows = self.rows_by_spark(table) if by_spark else self.rows(table)
        shown = [without_hidden(row) for row in rows if not row["is_deleted"]]
        by_key = {tuple(row[name] for name in key): row for row in shown}
        assert len(by_key) == len(shown), f"{table} has rows twice"
        return by_key


def make_shop_lake(spark: SparkSession, folder: Path, mirrors: Sequence[Mapping[str, Any]], **more: Any) -> ShopLake:
    """An empty lake with these entries as its mirrors, all of the schema ``shop``."""
    (folder / "landing").mkdir(exist_ok=True)
    spec = folder / "shop.yaml"
    document = shop_spec(mirrors, quality={"table": "shop_quality"}, **more)
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    return ShopLake(spark=spark, folder=folder, spec=str(spec))


def shop_spec(mirrors: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """The spec of a lake with these entries as its mirrors, all of the schema ``shop``."""
    return {
        "lake": "shop",
        "source": {"topics": ["shop.*"]},
        "log": "shop_log",
        "quarantine": "shop_quarantine",
        "tables": [{"from": {"database": "shop", "table": entry["name"]}, **entry} for entry in mirrors],
        **more,
    }


def without_hidden(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a reader sees of a stored row of a mirror."""
    return {n: bytes(v) if isinstance(v, bytearray) else v for n, v in row.items() if n not in HIDDEN}
