"""Columns that came before they were declared: what is known of them, in whatever order their events come."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, NumberUnit
from spark_jobs.lake_spec.undeclared_columns import (
    KeptColumn,
    UndeclaredValues,
    filled,
    form_of,
    pack_kept,
    take_in,
    to_fill,
    unfit_types,
    unpack_kept,
)

AMOUNT = ColumnSpec(name="discount", source="Discount", type=ColumnType.DECIMAL, precision=9, scale=2)
MOMENT = ColumnSpec(name="due", source="Due", type=ColumnType.TIMESTAMP)
found = st.builds(
    UndeclaredValues,
    column=st.sampled_from(["Discount", "Due", "Ünit"]),
    type=st.sampled_from(["sqlserver:bigint", "sqlserver:string", "postgresql:"]),
    order=st.sampled_from(["001", "002", "003"]),
    place=st.sampled_from(["a:0", "a:9"]),
)


@given(batch=st.lists(found, max_size=8), seed=st.integers(0, 99))
def test_what_is_known_of_a_column_does_not_depend_on_the_order_of_delivery(
    batch: list[UndeclaredValues], seed: int
) -> None:
    shuffled = random.Random(seed).sample(batch, len(batch))
    at_once, one_by_one = take_in({}, batch, (), at="now"), dict[str, KeptColumn]()
    for each in [*shuffled, *shuffled[:3]]:
        one_by_one = take_in(one_by_one, [each], (), at="now")
    assert {name: ({*kept.types}, kept.order, kept.place) for name, kept in at_once.items()} == {
        name: ({*kept.types}, kept.order, kept.place) for name, kept in one_by_one.items()
    }
    firsts = {each.column: min((o.order, o.place) for o in batch if o.column == each.column) for each in batch}
    assert {name: (kept.order, kept.place) for name, kept in at_once.items()} == firsts
    assert unpack_kept(pack_kept(at_once)) == at_once


def test_when_it_was_declared_first_is_known_and_stays() -> None:
    first = take_in({}, [UndeclaredValues(column="Due", type="x:int", order="1", place="a:0")], (), at="monday")
    assert (first["Due"].at, first["Due"].declared) == ("monday", "")
    second = take_in(first, [], ["Due", "Other"], at="tuesday")
    third = take_in(second, [], ["Due"], at="friday")
    assert third["Due"].declared == "tuesday"
    assert [*third] == ["Due"], "a column that was declared from the beginning is none of these"


def test_a_declared_column_is_filled_once_and_again_when_it_is_declared_otherwise() -> None:
    known = take_in({}, [UndeclaredValues(column="Due", type="x:bigint", order="1", place="a:0")], ["Due"], at="monday")
    assert to_fill(known, [AMOUNT, MOMENT]) == (MOMENT,)
    done = filled(known, [MOMENT], by="ann", at="tuesday")
    assert (done["Due"].filled, done["Due"].filled_by, done["Due"].declared) == (form_of(MOMENT), "ann", "monday")
    assert to_fill(done, [MOMENT]) == ()
    seconds = ColumnSpec(
        name="due", source="Due", type=ColumnType.TIMESTAMP, unit=(("default", NumberUnit.MICROSECONDS),)
    )
    assert to_fill(done, [seconds]) == (seconds,)


@pytest.mark.parametrize(
    ("type_", "more", "fits"),
    [
        (ColumnType.BIGINT, {}, {"int", "bigint", "decimal(9,2)", "string", ""}),
        (ColumnType.DECIMAL, {"precision": 9, "scale": 2}, {"int", "bigint", "decimal(9,2)", "string", ""}),
        (ColumnType.DECIMAL, {"precision": 9, "scale": 2, "packed": True}, {"int", "bigint", "decimal(9,2)", ""}),
        (ColumnType.STRING, {}, {"int", "bigint", "decimal(9,2)", "string", "boolean", ""}),
        (ColumnType.BOOLEAN, {}, {"int", "bigint", "boolean", ""}),
        (ColumnType.TIMESTAMP, {}, {"int", "bigint", "string", "timestamp", "date", ""}),
    ],
)
def test_which_kept_types_a_declared_one_may_hold(type_: ColumnType, more: dict[str, Any], fits: set[str]) -> None:
    every = {
        "int",
        "bigint",
        "decimal(9,2)",
        "string",
        "boolean",
        "timestamp",
        "date",
        "double",
        "json",
        "too long",
        "",
    }
    column = ColumnSpec(name="c", source="C", type=type_, **more)
    assert {*unfit_types(column, [f"x:{each}" for each in every])} == {f"x:{each}" for each in every - fits}
