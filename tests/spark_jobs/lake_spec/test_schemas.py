"""What becomes of columns: by eye, and for histories of any source that only grows, delivered in any way.

A history is a list of versions of a table's columns; version n is what events of the orders n*100 to n*100+99 have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_spec.column_types import holds, reads
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

ORIGIN = "shop.orders"
CLOCK = "2026-01-02T00:00:00Z"
WIDER = ("int", "bigint", "decimal(19,0)", "decimal(23,4)", "decimal(38,10)")
Version = Mapping[str, str]


def arrived(*events: tuple[int, Version]) -> BatchSchema:
    """Events by their order and the columns that they had."""
    orders: dict[tuple[str, str], list[int]] = {}
    for order, version in events:
        for column in version.items():
            orders.setdefault(column, []).append(order)
    seen = tuple(
        TypeSpan(column=name, type=type_, first=f"{min(of):06d}", last=f"{max(of):06d}", place=f"file:{min(of)}")
        for (name, type_), of in orders.items()
    )
    every = [order for order, _ in events]
    return BatchSchema(origin=ORIGIN, first=f"{min(every):06d}", last=f"{max(every):06d}", seen=seen)


def take(book: SchemaBook, *events: tuple[int, Version]) -> Evolution:
    return evolve(book, [arrived(*events)], at=CLOCK)


def types_of(book: SchemaBook) -> dict[str, str]:
    return {column.source: column.type for column in book[ORIGIN].columns}


def kinds_of(evolution: Evolution) -> list[tuple[Kind, str]]:
    return [(change.kind, change.column) for _, change in evolution.changes]


def test_a_table_that_is_new_and_what_is_reported_of_it():
    done = take({}, (7, {"Id": "int", "CustomerID": "string"}))
    assert [(c.source, c.name, c.type, c.added) for c in done.book[ORIGIN].columns] == [
        ("CustomerID", "customer_id", "string", "000007"),
        ("Id", "id", "int", "000007"),
    ]
    change = done.changes[0][1]
    assert (change.kind, change.after, change.order, change.place, change.at, change.by) == (
        Kind.ADDED,
        "string",
        "000007",
        "file:7",
        CLOCK,
        "the source",
    )


def test_a_wider_type_is_taken_and_a_narrower_one_is_old_or_refused():
    book = take({}, (1, {"a": "int"})).book
    wider = take(book, (5, {"a": "decimal(12,2)"}))
    assert (types_of(wider.book), kinds_of(wider)) == ({"a": "decimal(12,2)"}, [(Kind.WIDENED, "a")])
    late = take(wider.book, (3, {"a": "int"}))
    assert (late.refusals, late.changes) == ((), ())
    narrower = take(wider.book, (4, {"a": "int"}), (9, {"a": "int"}))
    (refusal,) = narrower.refusals
    assert (refusal.column, refusal.type, refusal.since) == ("a", "int", "000005")
    assert refusal.reason == "a came as int and is decimal(12,2)"
    assert types_of(narrower.book) == {"a": "decimal(12,2)"}


def test_a_type_that_does_not_fit_is_refused_and_reported_once():
    book = take({}, (1, {"a": "int", "b": "string"})).book
    first = take(book, (5, {"a": "string", "b": "string", "c": "date"}))
    assert [refusal.since for refusal in first.refusals] == [""]
    assert kinds_of(first) == [(Kind.REFUSED, "a"), (Kind.ADDED, "c")]
    again = take(first.book, (6, {"a": "string", "b": "string", "c": "date"}))
    assert (len(again.refusals), again.changes) == (1, ())


def test_a_column_that_goes_stays_and_may_come_back():
    book = take({}, (1, {"a": "int", "b": "string"})).book
    gone = take(book, (3, {"a": "int", "b": "string"}), (5, {"a": "int"}))
    assert kinds_of(gone) == [(Kind.DROPPED, "b")]
    assert [column.is_gone for column in gone.book[ORIGIN].columns] == [False, True]
    assert take(gone.book, (2, {"a": "int", "b": "string"}), (4, {"a": "int"})).changes == ()
    back = take(gone.book, (8, {"a": "int", "b": "string"}))
    assert kinds_of(back) == [(Kind.RETURNED, "b")]
    assert take(back.book, (6, {"a": "int"})).changes == ()


def test_a_column_without_a_type_waits_for_one():
    book = take({}, (1, {"a": "int", "b": ""})).book
    assert types_of(book) == {"a": "int"}
    assert types_of(take(book, (2, {"a": "int", "b": "date"})).book) == {"a": "int", "b": "date"}


def test_names_in_the_lake_are_names_whatever_the_source_calls_them():
    done = take({}, (1, {"Größe": "int", "gr_e": "int", "价格": "int", "row_key": "int", "2nd": "int"}))
    names = {column.source: column.name for column in done.book[ORIGIN].columns}
    assert names["Größe"] != names["gr_e"]
    assert names["row_key"] == "row_key_"
    assert names["2nd"] == "c_2nd"
    assert names["价格"].startswith("column_")


def test_a_column_that_the_spec_declares_is_called_as_declared():
    came = replace(arrived((1, {"Id": "int", "Total": "decimal(12,2)"})), names={"Total": "amount", "Gone": "gone"})
    columns = evolve({}, [came], at=CLOCK).book[ORIGIN].columns
    assert {column.source: column.name for column in columns} == {"Id": "id", "Total": "amount"}


@pytest.mark.parametrize("first", ["Amount", "Total", "both"])
@pytest.mark.parametrize("names", [{"Total": "amount"}, {"Total": "amount", "Gone": "amount_"}])
def test_the_name_of_a_declared_column_waits_for_it(first: str, names: dict[str, str]):
    version = {"Amount": "int", "Total": "int"}
    columns = [version] if first == "both" else [{first: "int"}, version]
    book: SchemaBook = {}
    for order, each in enumerate(columns):
        book = evolve(book, [replace(arrived((order, each)), names=names)], at=CLOCK).book
    other = "amount__" if "Gone" in names else "amount_"
    assert {column.source: column.name for column in book[ORIGIN].columns} == {"Amount": other, "Total": "amount"}


def test_a_column_that_is_there_keeps_its_name_when_it_is_declared_for_another():
    book = take({}, (1, {"Amount": "int", "Total_": "int"})).book
    names = {"Total": "amount", "Count": "amount_"}
    came = replace(arrived((2, {"Amount": "int", "Total_": "int", "Total": "int", "Count": "int"})), names=names)
    columns = evolve(book, [came], at=CLOCK).book[ORIGIN].columns
    assert columns[:2] == book[ORIGIN].columns
    assert {column.source: column.name for column in columns} == {
        "Amount": "amount",
        "Total_": "total",
        "Count": "amount_",
        "Total": "amount__",
    }


@pytest.mark.parametrize(
    ("wide", "narrow", "is_held", "is_read"),
    [
        ("bigint", "int", True, True),
        ("int", "bigint", False, False),
        ("decimal(19,0)", "bigint", True, True),
        ("decimal(18,0)", "bigint", False, False),
        ("int", "decimal(9,0)", True, True),
        ("int", "decimal(10,0)", False, False),
        ("decimal(12,4)", "decimal(12,2)", False, False),
        ("decimal(14,4)", "decimal(12,2)", True, True),
        ("double", "float", True, True),
        ("double", "int", True, True),
        ("double", "bigint", False, False),
        ("double", "decimal(4,2)", False, False),
        ("string", "int", False, True),
        ("string", "boolean", False, True),
        ("string", "timestamp", False, False),
        ("timestamp", "date", False, False),
    ],
)
def test_which_types_hold_which(wide, narrow, is_held, is_read):
    assert (holds(wide, narrow), reads(wide, narrow)) == (is_held, is_read)


@st.composite
def growing_histories(draw: st.DrawFn) -> list[dict[str, str]]:
    """Versions in which columns come, go, come back and get wider."""
    widths = dict.fromkeys("abcd", 0)
    versions = []
    for _ in range(draw(st.integers(1, 5))):
        widths = {name: draw(st.integers(width, len(WIDER) - 1)) for name, width in widths.items()}
        there = draw(st.sets(st.sampled_from("abcd")))
        versions.append({"id": "bigint", **{name: WIDER[widths[name]] for name in sorted(there)}})
    return versions


@given(history=growing_histories(), data=st.data())
def test_a_source_that_grows_is_never_refused_however_it_is_delivered(history, data):
    events = [(number * 100 + at, version) for number, version in enumerate(history) for at in range(3)]
    shuffled = data.draw(st.permutations(events))
    size = data.draw(st.integers(1, len(events)))
    book: SchemaBook = {}
    for begin in range(0, len(shuffled), size):
        done = take(book, *shuffled[begin : begin + size])
        assert done.refusals == ()
        book = done.book
    assert types_of(book) == widest(history)
    newest = history[-1]
    in_order: SchemaBook = {}
    for begin in range(0, len(events), size):
        in_order = take(in_order, *events[begin : begin + size]).book
    assert {column.source for column in in_order[ORIGIN].columns if not column.is_gone} == set(newest)
    assert unpack_book(pack_book(book)) == book


def widest(history: Sequence[Version]) -> dict[str, str]:
    """The last type of every column that there ever was."""
    return {name: type_ for version in history for name, type_ in version.items()}
