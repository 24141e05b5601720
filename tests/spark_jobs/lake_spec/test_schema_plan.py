"""Reviewed changes of columns: what the declared ones of two mirrors need, and what the book is afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.schema_plan import apply_changes, plan_changes
from spark_jobs.lake_spec.schemas import Change, Column, Kind, SchemaBook, TableSchema
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

AT, BY = "2026-01-02T00:00:00Z", "Ada"


def declared(name: str, source: str, type_: ColumnType = ColumnType.STRING, **more: Any) -> ColumnSpec:
    return ColumnSpec(name=name, source=source, type=type_, **more)


def mirror(table: str, *columns: ColumnSpec) -> TableSpec:
    return TableSpec(name=table, database="shop", table=table, key=("Id",), declared=columns)


def column(source: str, name: str, type_: str) -> Column:
    return Column(source=source, name=name, type=type_, added="3", since="5")


def table(*columns: Column) -> TableSchema:
    return TableSchema(columns=columns, changes=(Change(kind=Kind.ADDED, column=columns[0].source),))


BOOK: SchemaBook = {
    "shop.orders": table(
        column("Id", "id", "bigint"), column("Total", "total", "int"), column("Note", "note", "string")
    ),
    "shop.carts": table(column("Id", "id", "bigint"), column("Total", "total", "int")),
    "shop.other": table(column("Id", "id", "bigint")),
}
AMOUNT = declared("amount", "Total", ColumnType.DECIMAL, precision=12, scale=2)
ORDERS = mirror("orders", AMOUNT, declared("remark", "Note"), declared("paid", "Paid", ColumnType.BOOLEAN))
CARTS = mirror("carts", declared("total", "Total", ColumnType.BIGINT))


def facts(book: SchemaBook, origin: str) -> list[tuple[str, str, str]]:
    return [(each.source, each.name, each.type) for each in book[origin].columns]


def test_what_is_declared_otherwise_is_planned_for_each_mirror_and_column():
    planned = plan_changes([ORDERS, CARTS, mirror("unknown", AMOUNT)], BOOK)
    assert [(p.mirror, p.kind, p.column, p.before, p.after, p.unfit) for p in planned] == [
        ("orders", Kind.RENAMED, "Total", "total", "amount", ""),
        ("orders", Kind.CHANGED, "Total", "int", "decimal(12,2)", ""),
        ("orders", Kind.RENAMED, "Note", "note", "remark", ""),
        ("orders", Kind.ADDED, "Paid", "", "paid boolean", ""),
        ("carts", Kind.CHANGED, "Total", "int", "bigint", ""),
    ]


def test_what_two_tables_of_one_source_declare_is_changed_once():
    buyers = replace(ORDERS, name="buyers", key=("Buyer",))
    planned = plan_changes([ORDERS, buyers], BOOK)
    assert planned == plan_changes([ORDERS], BOOK)
    names = [name for _, name, _ in facts(apply_changes(BOOK, planned, at=AT, by=BY), "shop.orders")]
    assert names == ["id", "amount", "remark", "paid"]


def test_all_of_it_is_made_and_nothing_else():
    book = apply_changes(BOOK, plan_changes([ORDERS, CARTS], BOOK), at=AT, by=BY)
    assert facts(book, "shop.orders") == [
        ("Id", "id", "bigint"),
        ("Total", "amount", "decimal(12,2)"),
        ("Note", "remark", "string"),
        ("Paid", "paid", "boolean"),
    ]
    assert facts(book, "shop.carts") == [("Id", "id", "bigint"), ("Total", "total", "bigint")]
    assert book["shop.other"] == BOOK["shop.other"]
    for origin in ("shop.orders", "shop.carts"):
        before = BOOK[origin].changes
        assert book[origin].changes[: len(before)] == before, "what happened before stays"
        assert {(each.at, each.by) for each in book[origin].changes[len(before) :]} == {(AT, BY)}
        known = [each for each in book[origin].columns if each.source != "Paid"]
        assert {(each.added, each.since) for each in known} == {("3", "5")}, "events are read as before"
    assert plan_changes([ORDERS, CARTS], book) == (), "what was made is not planned again"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (declared("note", "Total", ColumnType.BIGINT), "note is the name of 'Note'; choose another"),
        (declared("id", "Paid", ColumnType.BOOLEAN), "id is the name of 'Id'; choose another"),
        (declared("total", "Total", ColumnType.TIMESTAMP), "timestamp does not hold what is there as int"),
        (declared("id", "Id", ColumnType.DECIMAL, precision=18, scale=0), "does not hold what is there as bigint"),
    ],
)
def test_of_a_plan_with_something_that_cannot_be_made_nothing_is_made(changed: ColumnSpec, reason: str):
    planned = plan_changes([CARTS, mirror("orders", declared("remark", "Note"), changed)], BOOK)
    assert [bool(each.unfit) for each in planned].count(True) == 1
    before = dict(BOOK)
    with pytest.raises(ContractError, match=reason):
        apply_changes(BOOK, planned, at=AT, by=BY)
    assert before == BOOK


def test_a_type_that_only_a_person_may_choose():
    text = mirror("carts", declared("total", "Total"))
    (planned,) = plan_changes([text], BOOK)
    assert (planned.after, planned.unfit) == ("string", "")
    dates = {"shop.carts": TableSchema(columns=(replace(BOOK["shop.carts"].columns[1], type="date"),))}
    (planned,) = plan_changes([text], dates)
    assert planned.unfit != ""
