"""Mistakes in tables with from, each reported with file, line and remedy; the shipped lake of a shop is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.spec_files.lake_check import check_lake
from spark_jobs.spec_files.spec_file import load_lake_spec

SHOP = PROJECT_ROOT / "include" / "lakes" / "shop.yaml"
ORDERS, PLACE = "    from: {database: shop, table: orders}\n", "    drop: [note_to_packer]\n"
MISTAKES = [
    ("name: orders\n", "name: Orders\n", "table 'Orders' is not a snake_case identifier", "rename it"),
    ("name: orders\n", "name: customers\n", "table names used twice: ['customers']", "rename one of them"),
    ("    key: [id]\n", "    key: []\n", "its key is no list of columns", "give their names"),
    ("    key: [id]\n", "    kye: [id]\n", "unknown entries ['kye']", "write key"),
    (ORDERS, "    from: {database: shop, table: 'or ders'}\n", "'or ders' is no name of a table", "give its name"),
    (ORDERS, "    from: {database: shop}\n", "from needs a table", "give its name at the source"),
    (
        ORDERS,
        "    from: {databse: shop, table: orders}\n",
        "from has 'databse'",
        "known are ['server', 'database', 'schema', 'table']",
    ),
    (ORDERS, "    from: orders\n", "from must be a mapping", "write a line name: value for each"),
    (ORDERS, "    database: shop\n", "unknown entries ['database']", "write from"),
    ("    buckets: 2\n", "    buckets: 0\n", "buckets must be at least 1", "correct it"),
    ("    buckets: 2\n", "    buckets: two\n", "buckets is 'two'", "give a whole number"),
    (
        "    buckets: 2\n",
        "    deletes: never\n",
        "'never' is unknown",
        "choose one of ['tombstone', 'remove', 'ignore']",
    ),
    ("    buckets: 2\n", "    nulls: never\n", "'never' is unknown", "choose one of ['unknown', 'value']"),
    (
        "    buckets: 2\n",
        "    nulls: {default: value, column: {}}\n",
        "nulls has 'column'",
        "known are default and columns",
    ),
    ("    buckets: 2\n", "    nulls: {columns: {note: no}}\n", "note 'False' is unknown", "choose one of"),
    ("    buckets: 2\n", "    transform: hour\n", "'hour' is unknown", "choose one of"),
    (PLACE, "    drop: [line]\n", "'line' is of the key", "take it out"),
    (PLACE, "    drop: note\n", "drop is 'note'", "give a list of names"),
    (PLACE, "    columns: note\n", "columns is 'note'", "give a list of names"),
    (PLACE, "    declare: [{name: total, source: total, type: money}]\n", "'money' is unknown", "choose one of"),
    (PLACE, "    declare: [{name: row_key, source: k, type: string}]\n", "'row_key' is taken", "call it otherwise"),
]


def problems(text: str, folder: Path) -> list[str]:
    spec = folder / "shop.yaml"
    spec.write_text(text, encoding="utf-8")
    return [line.removeprefix(str(spec)) for line in check_lake(spec, "").mistakes]


def test_the_shipped_shop_is_right(tmp_path):
    assert len(load_lake_spec(str(SHOP)).mirrors) == 4
    assert problems(SHOP.read_text(encoding="utf-8"), tmp_path) == []


@pytest.mark.parametrize(("old", "new", "message", "remedy"), MISTAKES)
def test_a_mistake_is_reported_with_its_line_and_what_to_do(tmp_path, old, new, message, remedy):
    text = SHOP.read_text(encoding="utf-8")
    line = text[: text.rindex(old)].count("\n") + 1
    begin, _, rest = text.rpartition(old)
    found = problems(begin + new + rest, tmp_path)
    assert [f":{line}: " in each and message in each and remedy in each for each in found] == [True], found


def test_tables_of_one_source_with_different_keys_both_say_what_a_delete_does(tmp_path):
    """A third one with the key of the first, and shards of which one is an entry's table too, are looked at as well."""
    entries = """  - {name: shelves, from: {database: shop, table: order_lines}, key: [shelf], drop: [note_to_packer]}
  - {name: lines_2, from: {database: Shop, table: Order_Lines}, key: [line, order_id], drop: [note_to_packer]}
  - {name: sold, from: {database: shop, table: "sold_*"}, key: [id], origin: shard}
  - {name: cities, from: {database: shop, table: sold_1}, key: [city]}
"""
    text = SHOP.read_text(encoding="utf-8").replace("\nquarantine_limit", f"{entries}\nquarantine_limit")
    found = problems(text, tmp_path)
    assert [line.partition("key differs from that of ")[2].partition(",")[0] for line in found] == [
        *("shelves", "order_lines", "shelves", "cities", "sold")
    ]
    places = [int(line.split(":")[1]) for line in found]
    lines = text.splitlines()
    assert [lines[place - 1].split("name: ")[1].split(",")[0] for place in places] == [
        *("order_lines", "shelves", "lines_2", "sold", "cities")
    ]
    assert all("write deletes: ignore, or deletes: tombstone if" in line for line in found)
    right = text.replace("key: [shelf]", "key: [shelf], deletes: ignore").replace("[city]", "[city], deletes: ignore")
    right = right.replace("[order_id, line]", "[order_id, line]\n    deletes: tombstone")
    right = right.replace("[line, order_id]", "[line, order_id], deletes: remove").replace(
        "shard}", "shard, deletes: remove}"
    )
    assert problems(right, tmp_path) == []
