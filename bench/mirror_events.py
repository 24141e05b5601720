"""A shop of many tables, all different, and what happens to their rows, as Debezium's events."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from spark_jobs.contracts.settings import Settings

_START_MS = 1_780_272_000_000
_DECIMAL = {"scale": "2", "connect.decimal.precision": "12"}
_KINDS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("text", {"type": "string"}),
    ("amount", {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": _DECIMAL}),
    ("moment", {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}),
    ("flag", {"type": "boolean"}),
    ("count", {"type": "int32"}),
    ("rate", {"type": "double"}),
    ("note", {"type": "string"}),
)
_DECLARED: Mapping[str, Mapping[str, Any]] = {
    "amount": {"type": "decimal", "precision": 12, "scale": 2},
    "moment": {"type": "timestamp", "unit": {"default": "microseconds"}},
}
"""What records without a schema do not say of a column."""
_SHARES = {"c": 0.2, "u": 0.95}
"""Of changes: a fifth makes rows, a twentieth deletes some, the others change what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopTable:
    """One of the shop's tables."""

    number: int
    has_schema: bool
    """Its records say what their columns are."""

    @property
    def name(self) -> str:
        """At the source and in the lake."""
        return f"table_{self.number:03d}"

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and kind of its seven to eleven columns beside the key."""
        kinds = [_KINDS[(self.number + place) % len(_KINDS)][0] for place in range(7 + self.number % 5)]
        return tuple((f"{kind}_{place}", kind) for place, kind in enumerate(kinds))

    @property
    def entry(self) -> dict[str, Any]:
        """Of the lake spec: one in four takes deleted rows out, one in five has partitions."""
        moment = next(name for name, kind in self.columns if kind == "moment")
        declared = [{"name": name, "source": name, **_DECLARED[k]} for name, k in self.columns if k in _DECLARED]
        return {
            "name": self.name,
            "from": {"database": "shop", "table": self.name},
            "key": ["id"],
            **({} if self.has_schema else {"declare": declared}),
            **({"deletes": "remove"} if self.number % 4 == 1 else {}),
            **({"partition": moment, "transform": "month"} if self.number % 5 == 2 else {}),
        }

    @property
    def schema(self) -> str:
        """Of its records as Connect's converter writes it."""
        kinds = dict(_KINDS)
        fields = [{"field": "id", "type": "int64"}, *({"field": name, **kinds[kind]} for name, kind in self.columns)]
        image = {"type": "struct", "optional": True, "fields": fields}
        parts = [{**image, "field": "before"}, {**image, "field": "after"}]
        return json.dumps({"type": "struct", "fields": parts})

    def row(self, key: int, rng: random.Random) -> dict[str, Any]:
        """A row as a record has it."""
        return {"id": key, **{name: self._value(kind, rng) for name, kind in self.columns}}

    def _value(self, kind: str, rng: random.Random) -> Any:
        number = rng.randrange(10**6)
        values = {
            "text": f"text {number}",
            "amount": _packed(number) if self.has_schema else f"{number // 100}.{number % 100:02d}",
            "moment": (_START_MS + number * 1_000) * 1_000,
            "flag": number % 2 == 0,
            "count": number,
            "rate": number / 8,
            "note": None if number % 3 else "a note of some words, as people write them",
        }
        return values[kind]


@dataclass(kw_only=True)
class Shop:
    """The tables, and how far their life is; one seed, one life."""

    tables: int
    rows: int
    """Of each table in the first load."""
    is_found: bool = False
    """One pattern of the spec finds them all, instead of an entry for each; then all records carry their schema."""
    lsn: int = 0

    @cached_property
    def all(self) -> tuple[ShopTable, ...]:
        """Its tables."""
        return tuple(ShopTable(number=n, has_schema=self.is_found or n % 2 == 0) for n in range(self.tables))

    def write_spec(self, file: Path) -> None:
        """The lake spec."""
        found = {"name": "{table}", "from": {"database": "shop", "table": "*"}, "key": ["id"]}
        document = {
            "lake": "shop",
            "source": {"topics": ["shop.*"]},
            "log": "shop_log",
            "quarantine": "shop_quarantine",
            "tables": [found] if self.is_found else [table.entry for table in self.all],
            "quality": {"table": "shop_quality"},
        }
        file.write_text(yaml.safe_dump(document), encoding="utf-8")

    def lake_settings(self, settings: Settings, folder: Path) -> Settings:
        """Write the lake spec into a folder; the settings of the lake that has its tables and landing files there."""
        self.write_spec(folder / "lake.yaml")
        return replace(
            settings,
            base_path=str(folder / "lake"),
            landing_path=str(folder / "landing"),
            lake_spec=str(folder / "lake.yaml"),
        )

    def land_rows(self, landing: Path) -> int:
        """The snapshot of every table, a file for each; gives how many events that are."""
        return sum(self._land(landing, table, "snapshot", self.rows, is_first=True) for table in self.all)

    def land_changes(self, landing: Path, number: int, count: int, *, first: int | None = None) -> int:
        """The changes of a round, ``count`` for each of the ``first`` tables; gives how many events that are."""
        return sum(self._land(landing, table, f"round-{number}", count) for table in self.all[:first])

    def _land(self, landing: Path, table: ShopTable, name: str, count: int, *, is_first: bool = False) -> int:
        folder = landing / f"shop.shop.{table.name}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(self._lines(table, count, random.Random(f"{table.name} {name}"), is_first=is_first))
        return count

    def _lines(self, table: ShopTable, count: int, rng: random.Random, *, is_first: bool) -> Iterator[str]:
        begin, end = (f'{{"schema": {table.schema}, "payload": ', "}\n") if table.has_schema else ("", "\n")
        for number in range(count):
            self.lsn += 1
            share = rng.random()
            op = "r" if is_first else next((op for op, most in _SHARES.items() if share < most), "d")
            key = {"r": number, "c": self.rows + self.lsn}.get(op, rng.randrange(self.rows))
            yield f"{begin}{json.dumps(self._record(table, op, table.row(key, rng)))}{end}"

    def _record(self, table: ShopTable, op: str, row: Mapping[str, Any]) -> dict[str, Any]:
        at = _START_MS + self.lsn
        source = {"connector": "postgresql", "name": "shop", "ts_ms": at, "snapshot": "true" if op == "r" else "false"}
        source |= {"db": "erp", "schema": "shop", "table": table.name, "lsn": self.lsn}
        images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
        return {**images, "source": source, "op": op, "ts_ms": at}


def _packed(unscaled: int) -> str:
    return base64.b64encode(unscaled.to_bytes(6, "big", signed=True)).decode()
