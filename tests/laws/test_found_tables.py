"""Laws 1, 2 and 4 of tables that patterns find, through Hudi: whatever tables appear in whatever order, all are right.

Two databases have tables of the same names, one of which has a key of two columns; ``orders_*`` of both are shards of
one table. Keys are declared, or are beside the envelopes alone. Ids are few, so that every table has the same ones.
Events come in any order, some of them again, so that a delete may be the first that is seen of a table.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.envelopes import Envelope
from tests.support.mirrors import TYPES, change, fold, keyed
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = pytest.mark.hudi

KEYS = {
    **dict.fromkeys(("shop.a", "crm.a", "crm.b", "shop.orders_1", "shop.orders_2", "crm.orders_1"), ("id",)),
    "shop.lines": ("id", "line"),
}
FIELDS = {"id": TYPES["bigint"], "line": TYPES["int"], "text": TYPES["string"]}


def entries(rng: random.Random, *, has_keys: bool) -> list[dict[str, Any]]:
    def words() -> dict[str, Any]:
        deletes, type_ = rng.choice(["tombstone", "remove"]), rng.choice(["merge_on_read", "copy_on_write"])
        return {"deletes": deletes, "type": type_, "buckets": rng.randint(1, 2)}

    every = {"database": ["shop", "crm"], "table": "*"}
    keys = {"key": {"default": "id", "for": {"lines": ["id", "line"]}}} if has_keys else {}
    shards = {"database": "*", "table": "orders_?"}
    return [
        {
            "name": "{database}_{table}",
            "from": every,
            **keys,
            **words(),
        },
        {"name": "orders", "from": shards, "key": ["id"], "origin": "shard", **words()},
    ]


def changes(rng: random.Random, count: int) -> list[Envelope]:
    """What might happen to a few keys of each table, in the source's order; of the table ``<database>.<table>``."""
    there, records = set[tuple[str, int, int]](), list[Envelope]()
    for lsn in range(1, count + 1):
        table = rng.choice([*KEYS])
        key = (table, rng.randint(1, 4), rng.randint(1, 2) if table == "shop.lines" else 0)
        row = {"id": key[1], "line": key[2], "text": rng.choice([None, "", "a", "b"])}
        op = "d" if key in there and rng.random() < 0.4 else "u" if key in there else "c"
        (there.discard if op == "d" else there.add)(key)
        records.append(change(op, table, row, lsn, fields=FIELDS))
    return records


def delivered(record: Envelope, *, has_key: bool) -> Envelope:
    """As the source sends it, with or without the record's key."""
    sent = copy.deepcopy(record)
    source = sent["payload"]["source"]
    source["schema"], _, source["table"] = source["table"].partition(".")
    return keyed(sent, KEYS[record["payload"]["source"]["table"]]) if has_key else sent


def assert_equal(lake: ShopLake, records: Sequence[Envelope]) -> None:
    wanted, shards = fold(records, KEYS), dict[tuple[Any, ...], dict[str, Any]]()
    seen = {record["payload"]["source"]["table"] for record in records}
    for table in sorted(seen):
        if ".orders_" in table:
            shards |= {(table, *key): {"shard": table, **row} for key, row in wanted[table].items()}
        else:
            assert lake.live(table.replace(".", "_"), key=KEYS[table]) == wanted[table], table
    assert lake.live("orders", key=("shard", "id")) == shards


@pytest.mark.slice(name="laws")
@pytest.mark.parametrize("seed", range(2))
def test_whatever_tables_appear_in_whatever_order_each_is_right(spark, tmp_path: Path, seed: int):
    rng, is_keyed = random.Random(seed), bool(seed % 2)
    lake = make_shop_lake(spark, tmp_path, entries(rng, has_keys=not is_keyed))
    records = changes(rng, 100)
    shuffled = [*records, *rng.sample(records, 20)]
    rng.shuffle(shuffled)
    parts = rng.randint(2, 3)
    for number in range(parts):
        lake.deliver(f"part-{number}", [delivered(each, has_key=is_keyed) for each in shuffled[number::parts]])
        lake.run("split")
    assert_equal(lake, records)
    assert lake.rows("shop_quarantine") == []
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
