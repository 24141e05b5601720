"""Which tables a lake has by what its log has seen, by eye and for any order of discovery.

The lake takes every table of the schemas ``shop`` and ``crm``; ``shop.items`` has an entry of its own, ``orders_*`` are
shards of one table, and tables called ``tmp_*`` are left alone. Of every other table the records say the key, but of
those called ``keyless_*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.lake_spec.resolving import columns_of, resolve, settle
from spark_jobs.lake_spec.schemas import (
    BatchSchema,
    Evolution,
    Kind,
    SchemaBook,
    TypeSpan,
    evolve,
    pack_book,
    unpack_book,
)
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_sources import ORIGIN
from spark_jobs.spec_files.spec_file import parse_lake_spec

EVERY = {"from": {"database": ["shop", "crm"], "table": "*", "except": ["tmp_*"]}, "name": "{database}_{table}"}
ITEMS = {"from": {"database": "shop", "table": "items"}, "name": "goods", "key": ["id"]}
ORDERS = {"from": {"database": "shop", "table": "orders_*"}, "name": "orders", "key": ["id"], "origin": "shard"}


def lake_of(*entries: dict[str, Any], **more: Any) -> LakeSpec:
    return parse_lake_spec(
        {"lake": "shop", "source": {"topics": ["*"]}, "log": "log", "quarantine": "bad", "tables": [*entries], **more}
    )


LAKE = lake_of(EVERY, ITEMS, ORDERS)


def arrived(origin: str, key: Sequence[str] = (), **types: str) -> BatchSchema:
    """Events of a table: one row with columns of these types."""
    columns = types or {"id": "int"}
    seen = tuple(TypeSpan(column=name, type=type_, first="1", last="2") for name, type_ in columns.items())
    shards = ("orders",) if origin.startswith("shop.orders_") else ()
    return BatchSchema(
        origin=origin, first="1", last="2", seen=seen, keys=(tuple(key),) if key else (), shard_of=shards
    )


def taken_in(spec: LakeSpec, book: SchemaBook, batch: Iterable[BatchSchema], at: str = "2026") -> Evolution:
    """What a run of ingest comes to."""
    shards = {table.name: table.origins for table in resolve(spec, book).tables if table.shards}
    evolution = evolve(settle(spec, book), batch, at=at, shards=shards)
    return replace(evolution, book=settle(spec, evolution.book))


def tables_of(spec: LakeSpec, book: SchemaBook) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {table.name: (table.origins, table.key) for table in resolve(spec, book).tables}


def test_tables_are_found_shards_are_one_and_an_entry_of_its_own_comes_first():
    batch = [
        arrived("shop.a", ["id"]),
        arrived("shop.items", ["id"]),
        arrived("shop.orders_1"),
        arrived("crm.a", ["k"]),
    ]
    book = taken_in(LAKE, {}, batch).book
    assert tables_of(LAKE, book) == {
        "goods": (("shop.items",), ("id",)),
        "orders": (("shop.orders_1",), (ORIGIN, "id")),
        "crm_a": (("crm.a",), ("k",)),
        "shop_a": (("shop.a",), ("id",)),
    }
    assert resolve(LAKE, book).unresolved == ()


def test_a_lake_without_patterns_is_as_it_is_declared():
    lake = lake_of(ITEMS)
    assert resolve(lake, taken_in(lake, {}, [arrived("shop.a", ["id"])]).book) is lake


def test_a_table_without_a_known_key_is_reported_with_what_to_do_and_made_once_it_is_declared():
    book = taken_in(LAKE, {}, [arrived("shop.keyless"), arrived("shop.a", ["id"])]).book
    assert resolve(LAKE, book).unresolved == (
        (
            "shop.keyless",
            "is not made, because its records do not say its key; declare key: for: {keyless: [its columns]}",
        ),
    )
    declared = lake_of({**EVERY, "key": {"for": {"keyless": ["a", "b"]}}}, ITEMS, ORDERS)
    assert tables_of(declared, book)["shop_keyless"] == (("shop.keyless",), ("a", "b"))


def test_a_name_that_is_taken_or_none_is_reported_and_never_taken_from_a_table_that_is_there():
    first = taken_in(LAKE, {}, [arrived("shop.b_c", ["id"])]).book
    book = taken_in(LAKE, first, [arrived("shop.b-c", ["id"]), arrived("shop." + "x" * 60, ["id"])]).book
    assert tables_of(LAKE, book)["shop_b_c"] == (("shop.b_c",), ("id",))
    (taken, no_name) = (line for _, line in resolve(LAKE, book).unresolved)
    assert taken == "would be called shop_b_c, as another table is; add an entry for b-c with another name"
    assert no_name.startswith("would be called 'shop_xxx")
    assert no_name.endswith(f"which is no name in the lake; add an entry for {'x' * 60} with a name")


def test_names_and_keys_are_for_good():
    book = taken_in(LAKE, {}, [arrived("shop.a", ["id"])]).book
    again = taken_in(LAKE, book, [arrived("shop.a", ["id", "tenant"])])
    assert [(change.kind, change.before, change.after) for _, change in again.changes] == [
        (Kind.REKEYED, "id", "id, tenant")
    ]
    assert tables_of(LAKE, again.book)["shop_a"] == (("shop.a",), ("id",))
    assert not taken_in(LAKE, again.book, [arrived("shop.a", ["id", "tenant"])]).changes, "each is reported once"
    other = lake_of({**EVERY, "name": "other_{database}_{table}", "key": ["k"]}, ORDERS)
    assert tables_of(other, again.book)["shop_a"] == (("shop.a",), ("id",))
    assert resolve(other, again.book).unresolved == (("shop.a", "keeps the key id that it was made with"),)


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("report", ["is new and not made, as new_tables says; add an entry for it, or write new_tables: add"]),
        ("ignore", []),
    ],
)
def test_new_tables_may_be_reported_or_ignored_and_those_that_are_there_go_on(word: str, lines: list[str]):
    book = taken_in(LAKE, {}, [arrived("shop.a", ["id"])]).book
    lake = lake_of({**EVERY, "new_tables": word})
    book = taken_in(lake, book, [arrived("shop.b", ["id"])]).book
    assert [*tables_of(lake, book)] == ["shop_a"]
    assert [line for origin, line in resolve(lake, book).unresolved if origin == "shop.b"] == lines


def test_shards_have_the_columns_of_all_with_types_that_hold_them():
    batch = [
        arrived("shop.orders_1", id="int", a="int", shard="string"),
        arrived("shop.orders_2", id="bigint", b="date"),
        arrived("shop.orders_3", id="int", b="int"),
    ]
    batch = [replace(each, names={ORIGIN: "shard"}) for each in batch]
    evolution = taken_in(LAKE, {}, batch)
    assert [(each.origin, each.reason) for each in evolution.refusals] == [
        ("shop.orders_3", "b came as int and is date")
    ]
    (orders,) = (table for table in resolve(LAKE, evolution.book).tables if table.name == "orders")
    assert {column.name: (column.source, column.type) for column in columns_of(orders, evolution.book)} == {
        "shard": (ORIGIN, "string"),
        "id": ("id", "bigint"),
        "a": ("a", "int"),
        "shard_": ("shard", "string"),
        "b": ("b", "date"),
    }


def test_a_shard_whose_types_are_other_ones_already_is_left_out_and_reported():
    book = {**evolve({}, [replace(arrived("shop.orders_2", id="date"), shard_of=())], at="2026").book}
    book |= evolve({}, [arrived("shop.orders_1")], at="2026").book
    lake = resolve(LAKE, book)
    assert lake.table("orders").found == ("shop.orders_1",)
    assert lake.unresolved == (
        ("shop.orders_2", "is not in orders: column id is date and int in others; declare its type for all of them"),
    )


NAMES = st.sampled_from(["a", "b", "items", "tmp_x", "keyless_1", "orders_1", "orders_2", "z9", "b c"])
ORIGINS = st.builds("{}.{}".format, st.sampled_from(["shop", "crm", "hr"]), NAMES)


@settings(max_examples=40)
@given(st.lists(ORIGINS, unique=True), st.data())
def test_any_order_of_discovery_gives_the_same_tables(origins: list[str], data: st.DataObject):
    wanted = dict[str, tuple[str, ...]]()
    for database, table in (origin.split(".") for origin in origins):
        if f"{database}.{table}" == "shop.items" or database == "hr" or table.startswith(("tmp_", "keyless_")):
            continue
        if not (database == "shop" and table.startswith("orders_")):
            wanted[f"{database}_{re.sub('[^a-z0-9]', '_', table)}"] = ("id",)
    shuffled = data.draw(st.permutations(origins))
    book: SchemaBook = {}
    cuts = sorted(data.draw(st.sets(st.integers(0, len(origins)), max_size=3)) | {0, len(origins)})
    for start, end in pairwise(cuts):
        batch = [arrived(each, () if "keyless" in each else ["id"]) for each in shuffled[start:end]]
        book = unpack_book(pack_book(taken_in(LAKE, book, batch).book))
    lake = resolve(LAKE, book)
    assert {table.name: table.key for table in lake.tables if table.is_found} == wanted
    shards = sorted(each for each in origins if each.startswith("shop.orders_"))
    assert lake.table("orders").found == tuple(shards)
    assert resolve(lake, book) == lake
    assert settle(lake, book) == book
    reported = {origin for origin, _ in lake.unresolved}
    assert reported == {each for each in origins if "keyless" in each and not each.startswith("hr.")}
