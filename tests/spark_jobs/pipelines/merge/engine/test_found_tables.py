"""A whole database and shards, through Hudi: tables make themselves, and equal the source's.

The lake takes every table of the schema ``shop`` whose key it knows, and the shards ``orders_*`` as one table. The keys
of ``customers`` and ``lines`` are beside their envelopes, those of ``items`` and ``visits`` are declared.

1. Three tables, ``notes`` whose key is not known, ``tmp_1`` that is excepted, and two shards with the same ids.
2. A fourth table, ``visits``; id 1 is deleted in the first shard, and a third shard appears with a column more.
3. The key of ``notes`` is declared: it has all its rows, although no event of it came since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.results import JobResult
from tests.support.envelopes import Envelope
from tests.support.mirrors import TYPES, change, fold, keyed
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = pytest.mark.hudi

KEYS: Mapping[str, tuple[str, ...]] = {
    "customers": ("id",),
    "items": ("id",),
    "lines": ("id", "line"),
    "visits": ("id",),
    "notes": ("id",),
    "orders_1": ("id",),
    "orders_2": ("id",),
    "orders_3": ("id",),
}
KEYED, DECLARED = ("customers", "lines"), ("items", "visits")
FIELDS = {"id": TYPES["bigint"], "line": TYPES["int"], "text": TYPES["string"]}
FIRST = [
    *(
        change("c", "customers", {"id": 1, "line": 0, "text": text}, lsn, fields=FIELDS)
        for lsn, text in ((1, "a"), (2, "b"))
    ),
    change("r", "items", {"id": 1, "line": 0, "text": "x"}, 3, fields=FIELDS),
    *(change("c", "lines", {"id": 1, "line": line, "text": None}, 4 + line, fields=FIELDS) for line in (1, 2)),
    change("c", "notes", {"id": 7, "line": 0, "text": "kept"}, 7, fields=FIELDS),
    change("c", "tmp_1", {"id": 1, "line": 0, "text": ""}, 8, fields=FIELDS),
    *(change("c", "orders_1", {"id": id_, "line": 1, "text": "one"}, 10 + id_, fields=FIELDS) for id_ in (1, 2)),
    *(change("c", "orders_2", {"id": id_, "line": 2, "text": "two"}, 20 + id_, fields=FIELDS) for id_ in (1, 2)),
]
SECOND = [
    change("c", "visits", {"id": 1, "line": 0, "text": "v"}, 30, fields=FIELDS),
    change("c", "visits", {"id": 2, "line": 0, "text": "w"}, 31, fields=FIELDS),
    change("d", "orders_1", {"id": 1, "line": 1, "text": "one"}, 32, fields=FIELDS),
    change("c", "orders_3", {"id": 1, "line": 3, "text": "3", "more": 5}, 33, fields={**FIELDS, "more": TYPES["int"]}),
]


def entries(*known: str) -> list[dict[str, Any]]:
    keys = {table: [*KEYS[table]] for table in known}
    return [
        {
            "name": "s_{table}",
            "from": {"database": "shop", "table": "*", "except": ["tmp_*"]},
            "key": {"for": keys},
        },
        {"name": "orders", "from": {"database": "shop", "table": "orders_*"}, "key": ["id"], "origin": "shard"},
    ]


def delivered(record: Envelope) -> Envelope:
    table = record["payload"]["source"]["table"]
    return keyed(record, KEYS[table]) if table in KEYED else record


def committed(result: JobResult) -> set[str]:
    return {each.table for each in result.tables if each.is_committed}


def assert_equal(lake: ShopLake, records: Sequence[Envelope], tables: Sequence[str]) -> None:
    """Each table that is found holds the live rows of its source, and the shards' table those of all of them."""
    wanted = fold([each for each in records if each["payload"]["source"]["table"] in KEYS], KEYS)
    for table in tables:
        assert lake.live(f"s_{table}", key=KEYS[table]) == wanted[table], table
    shards = {
        (f"shop.{table}", *key): {"shard": f"shop.{table}", "more": None, **row}
        for table in KEYS
        if table.startswith("orders_")
        for key, row in wanted[table].items()
    }
    found = lake.live("orders", key=("shard", "id"))
    assert {key: {"more": None, **row} for key, row in found.items()} == shards


@pytest.mark.slice(name="jobs")
def test_tables_of_a_database_make_themselves_and_shards_are_one_table(spark, tmp_path: Path):
    lake = make_shop_lake(spark, tmp_path, entries(*DECLARED))
    assert lake.run("split").tables[0].table == "orders", "nothing was found so far"
    lake.deliver("first", map(delivered, FIRST))
    result = lake.run("split")
    assert committed(result) == {
        "s_customers",
        "s_items",
        "s_lines",
        "orders",
    }
    (unmade,) = result.messages
    assert unmade.startswith("shop.notes: is not made, because its records do not say its key; declare key: for:")
    assert_equal(lake, FIRST, [*KEYED, "items"])
    lake.deliver("second", map(delivered, SECOND))
    result = lake.run("split")
    assert committed(result) == {"s_visits", "orders"}
    assert_equal(lake, [*FIRST, *SECOND], [*KEYED, *DECLARED])
    lake = make_shop_lake(spark, tmp_path, entries(*DECLARED, "notes"))
    result = lake.run("split")
    assert committed(result) == {"s_notes"}
    assert result.messages == ()
    assert_equal(lake, [*FIRST, *SECOND], [*KEYED, *DECLARED, "notes"])
    assert lake.rows("shop_quarantine") == []
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
