"""Tables refuse nonsense: one of orders at the source, and one of the wide log, each with one entry changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.partitioning import Transform
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, Nulls, NumberUnit

TOTAL = ColumnSpec(name="total", source="Total", type=ColumnType.BIGINT)
NO_WIDTH = "transform: truncate needs a width of 1 to 10^15, how many whole numbers a partition takes; correct it"
PAID_AT = ColumnSpec(name="paid_at", source="PaidAt", type=ColumnType.TIMESTAMP)


def orders(**changes: Any) -> TableSpec:
    parts: dict[str, Any] = {"name": "orders", "database": "shop", "table": "Orders", "key": ("Id", "Line")}
    return TableSpec(**{**parts, "drop": ("Note",), "mask": ("Email",), "partition": "PaidAt", **changes})


def test_columns_may_be_left_out_masked_and_named():
    mirror = orders(declared=(TOTAL,))
    assert (mirror.origin, mirror.names, mirror.removes_rows) == ("shop.orders", {"Total": "total"}, True)


@pytest.mark.parametrize(
    ("change", "message", "at"),
    [
        ({"drop": ("Note", "Line")}, "'Line' is of the key, which has to stay; take it out", ("drop", 1)),
        ({"mask": ("Id",)}, "'Id' is of the key, which has to stay; take it out", ("mask", 0)),
        ({"drop": ("PaidAt",)}, "'PaidAt' is its partition column; partition otherwise", ("drop", 0)),
        ({"mask": ("Email", "PaidAt")}, "'PaidAt' is its partition column; partition otherwise", ("mask", 1)),
        ({"mask": ("Note",)}, "'Note' is to be dropped and masked; choose one", ("mask", 0)),
        ({"key": ("Id", "Id")}, "its key is no list of columns; give their names at the source, each once", ("key",)),
        (
            {"table": "two words"},
            "table 'two words' is no name of a table; give its name at the source",
            ("from", "table"),
        ),
        ({"declared": (TOTAL, TOTAL)}, "column 'total' is taken; call it otherwise", ("declare", 1, "name")),
        ({"columns": ("Note", "PaidAt")}, "'Note' is among its columns and dropped; choose one", ("drop", 0)),
        (
            {"columns": ("Total", "PaidAt"), "null_columns": (("Price", Nulls.UNKNOWN),)},
            "nulls names 'Price', none of its columns",
            ("nulls", "columns", 0),
        ),
        ({"buckets": 0}, "buckets must be at least 1; correct it", ("buckets",)),
        ({"width": 10}, "width is for transform: truncate, and this is value; take it out", ("width",)),
        ({"transform": Transform.TRUNCATE}, NO_WIDTH, ("transform",)),
        ({"transform": Transform.TRUNCATE, "width": 0}, NO_WIDTH, ("width",)),
        ({"transform": Transform.TRUNCATE, "width": "many"}, NO_WIDTH, ("width",)),
        ({"transform": Transform.TRUNCATE, "width": True}, NO_WIDTH, ("width",)),
        ({"transform": Transform.TRUNCATE, "width": 10**15 + 1}, NO_WIDTH, ("width",)),
        (
            {"transform": Transform.TRUNCATE, "width": 10, "partition": ""},
            "transform: truncate needs a partition; name a column of whole numbers",
            ("transform",),
        ),
    ],
)
def test_a_mirror_that_contradicts_itself(change: dict[str, Any], message: str, at: tuple[str | int, ...]):
    with pytest.raises(ContractError) as caught:
        orders(**change)
    assert (str(caught.value), caught.value.at) == (f"table orders: {message}", at)


def units(**changes: Any) -> TableSpec:
    return TableSpec(**{"name": "units", "key": ("unit_id",), "columns": ("name", "project_id"), **changes})


def test_what_is_not_declared_follows_from_where_the_rows_come_from():
    assert (units().deletes, orders().deletes) == (Deletes.IGNORE, Deletes.TOMBSTONE)
    assert (units().nulls, orders().nulls) == (None, Nulls.VALUE)
    assert (units().has_row_order, units(partition="name").has_row_order) == (False, True)
    assert units(deletes=Deletes.REMOVE).removes_rows
    assert not units(deletes=Deletes.TOMBSTONE).removes_rows


@pytest.mark.parametrize(
    ("change", "message", "at"),
    [
        ({"key": ("unit_id", "name")}, "its key has to be one column; name it", ("key",)),
        ({"columns": ()}, "needs columns beside its key, each once; correct columns", ("columns",)),
        ({"columns": ("name", "unit_id")}, "needs columns beside its key, each once; correct columns", ("columns",)),
        ({"partition": "city"}, "partition 'city' is none of its columns; name one of them", ("partition",)),
        ({"mask": ("name",)}, "mask is for tables with from; take it out", ("mask",)),
        ({"declared": (TOTAL,)}, "declare is for tables with from; take it out", ("declare",)),
        (
            {"null_columns": (("city", Nulls.VALUE),)},
            "nulls names 'city', none of its columns",
            ("nulls", "columns", 0),
        ),
    ],
)
def test_a_table_of_the_wide_log_that_contradicts_itself(
    change: dict[str, Any], message: str, at: tuple[str | int, ...]
):
    with pytest.raises(ContractError) as caught:
        units(**change)
    assert (str(caught.value), caught.value.at) == (f"table units: {message}", at)


def test_tables_of_one_source_agree_on_what_the_log_keeps_of_it():
    same, names = orders(), orders(name="notes", drop=(), declared=(replace(TOTAL, name="sum"),))
    assert list(same.mistakes_beside(orders(declared=(TOTAL,)))) == []
    found = [(str(error), error.at) for error in names.mistakes_beside(orders(declared=(TOTAL,)))]
    assert found == [
        ("table notes: drop differs from orders, which has the same source; align them", ("drop",)),
        (
            "table notes: column 'Total' is sum bigint here and total bigint in orders, of the same source; align them",
            ("declare", 0, "type"),
        ),
    ]
    micros = replace(PAID_AT, unit=(("default", NumberUnit.MICROSECONDS),))
    commented = replace(PAID_AT, comment="by card")
    (error,) = orders(name="notes", declared=(micros,)).mistakes_beside(orders(declared=(PAID_AT,)))
    assert "column 'PaidAt' is read otherwise than in orders, of the same source; declare the same unit" in str(error)
    assert not [*orders(declared=(commented,)).mistakes_beside(orders(declared=(PAID_AT,)))]


def test_a_table_with_another_key_than_one_of_the_same_source_says_what_a_delete_does():
    """By the default a deleted line would take the order with it, which has other lines."""
    lines, heads = orders(), orders(name="heads", key=("Id",))
    (error,) = heads.mistakes_of_deletes([lines])
    assert str(error).startswith(
        "table heads: its key differs from that of orders, of the same source, so it has to say"
    )
    assert (str(error).partition("; ")[2], error.at) == (
        "write deletes: ignore, or deletes: tombstone if this is the key of the rows there",
        ("deletes",),
    )
    assert [*lines.mistakes_of_deletes([heads])], "which of the two keys is that of the rows is not known"
    assert not [*orders(key=("Line", "Id")).mistakes_of_deletes([lines])]
    for deletes in Deletes:
        assert not [*replace(heads, deletes=deletes).mistakes_of_deletes([lines])]
