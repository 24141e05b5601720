"""A person is erased from tables at the source and from whole files, as if the events had never named them.

``clients`` has a row a client, ``orders`` names them by ``client`` beside its own key, ``visits`` in a key of two
columns and takes deleted rows out, ``scores`` are loaded. Client 17 was called by two names, and one order of theirs
was deleted. What must be there afterwards is the fold of the edited events.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.contexts import CLOCK
from tests.support.envelopes import Envelope
from tests.support.mirrors import change, fold, line_of
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="jobs")]

KEYS = {"clients": ("id",), "orders": ("id",), "visits": ("client", "no")}
TABLES: list[dict[str, Any]] = [
    {"name": "clients", "key": ["id"]},
    {"name": "orders", "key": ["id"], "buckets": 2},
    {"name": "visits", "key": ["client", "no"], "deletes": "remove"},
]
PEOPLE = {
    "client": {
        "tables": {
            "clients": {"key": "id", "columns": ["name", "mail"]},
            "orders": {"key": "client", "columns": ["contact"]},
            "visits": {"key": "client"},
            "scores": {"key": "client", "columns": ["name"]},
        }
    }
}
SCORES = {
    "name": "scores",
    "key": "month",
    "load": {
        "columns": [
            {"name": "month", "type": "string"},
            {"name": "client", "type": "bigint"},
            {"name": "name", "type": "string"},
        ]
    },
}
NAMES = ("Zoë Quux", "Zoë Garply", "zoe@quux.example")
EVENTS: list[tuple[str, str, dict[str, Any]]] = [
    ("c", "clients", {"id": 17, "name": "Zoë Quux", "mail": "zoe@quux.example"}),
    ("c", "clients", {"id": 18, "name": "Bob", "mail": "b@example"}),
    ("u", "clients", {"id": 17, "name": "Zoë Garply", "mail": "zoe@quux.example"}),
    ("c", "orders", {"id": 17, "client": 18, "contact": "Bob", "total": 5}),
    ("c", "orders", {"id": 1, "client": 17, "contact": "Zoë Quux", "total": 7}),
    ("c", "orders", {"id": 2, "client": 17, "contact": "Zoë Garply", "total": 9}),
    ("d", "orders", {"id": 2, "client": 17, "contact": "Zoë Garply", "total": 9}),
    ("c", "visits", {"client": 17, "no": 1, "day": "mon"}),
    ("c", "visits", {"client": 17, "no": 2, "day": "tue"}),
    ("d", "visits", {"client": 17, "no": 2, "day": "tue"}),
    ("c", "visits", {"client": 18, "no": 1, "day": "wed"}),
]


def records(events: list[tuple[str, str, dict[str, Any]]]) -> list[Envelope]:
    return [change(op, table, row, lsn) for lsn, (op, table, row) in enumerate(events, start=1)]


def edited(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row as if it had never named client 17."""
    key = "id" if table == "clients" else "client"
    if row[key] != 17:
        return row
    return {n: None if n in ("name", "mail", "contact") else 0 if n == key else v for n, v in row.items()}


def expected() -> dict[str, dict[tuple[Any, ...], Any]]:
    return fold(records([(op, table, edited(table, row)) for op, table, row in EVENTS]), KEYS)


def traces(folder: Path) -> list[str]:
    """Files that have one of the names in any spelling that was delivered."""
    words = [name.encode() for name in NAMES]
    files = [path for path in folder.rglob("*") if path.is_file() and ".erasures" not in path.parts]
    return [str(path.relative_to(folder)) for path in files if any(word in path.read_bytes() for word in words)]


def load_scores(lake: ShopLake, clock: datetime) -> None:
    file = lake.folder / "scores.csv"
    file.write_text("month,client,name\n2026-01,17,Zoë Quux\n2026-02,18,Bob\n", encoding="utf-8")
    lake.run("load", clock=clock, table="scores", from_path=str(file))
    file.unlink()


def test_nothing_of_them_is_left_in_any_table_and_every_other_row_is_as_it_was(spark, tmp_path: Path):
    lake = make_shop_lake(spark, tmp_path, TABLES, people=PEOPLE)
    document = yaml.safe_load(Path(lake.spec).read_text(encoding="utf-8"))
    document["tables"].append(SCORES)
    Path(lake.spec).write_text(yaml.safe_dump(document), encoding="utf-8")
    lake.deliver("first", records(EVENTS)[:6])
    lake.run("split")
    lake.land("second", map(line_of, records(EVENTS)[6:]), topic="shop.shop.all")
    lake.land("torn", [b'{"after": {"name": "Zo\xc3\xab Quux"'], topic="shop.shop.all")
    later = CLOCK + timedelta(hours=1)
    lake.run("ingest", clock=later)
    lake.run("split", clock=later)
    load_scores(lake, later)
    assert lake.live("visits", key=KEYS["visits"]).keys() == {(17, 1), (18, 1)}

    plan = lake.run("erase", clock=later, client="17")
    assert plan.counters["findings"] > 0
    lake.run("erase", clock=later, client="17", yes=True)

    for table, key in KEYS.items():
        for by_spark in (False, True):
            assert lake.live(table, key=key, by_spark=by_spark) == expected()[table], (table, by_spark)
    scores = {row["month"]: (row["client"], row["name"]) for row in lake.rows("scores")}
    assert scores == {"2026-01": (0, None), "2026-02": (18, "Bob")}
    tombstones = {row["row_key"] for row in lake.rows("shop_log_deleted")}
    assert not any('"17"' in key for key in tombstones)
    assert traces(lake.folder) == []
    assert lake.run("ingest", clock=later).status == "nothing_to_do", "no file is read again"
    assert lake.run("split", clock=later).status == "nothing_to_do"
    assert lake.run("erase", clock=later, client="17", yes=True).status == "nothing_to_do"
