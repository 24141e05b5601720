"""What is expected of mirrors, whose columns are known from events alone: what is implied, what waits, what is refused.

The mirror ``orders`` has the key ``Id``; ``total`` is called ``amount`` in the lake, ``note`` is dropped, ``email``
masked.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.expectations import Action
from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.spec_files.expectation_file import parse_expectation
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.sql_analysis.expectation_sql import expectations_of
from spark_jobs.sql_analysis.mirror_expectations import TableExpectations, implied_of_mirror
from tests.support.hostile_names import is_clear

DOCUMENT: dict[str, Any] = {
    "lake": "shop",
    "source": {"topics": ["shop.*"]},
    "log": "shop_log",
    "quarantine": "shop_quarantine",
    "mirrors": [
        {
            "name": "orders",
            "database": "shop",
            "table": "orders",
            "key": ["Id"],
            "drop": ["note"],
            "mask": ["email"],
            "columns": [{"name": "amount", "source": "total", "type": "decimal", "precision": 10, "scale": 2}],
        },
        {"name": "carts", "database": "shop", "table": "carts", "key": ["id"]},
    ],
    "loads": [{"name": "rates", "key": "bank", "columns": [{"name": "bank", "type": "string"}]}],
}


def spec_with(**entries: Mapping[str, Mapping[str, Any]]) -> LakeSpec:
    """The lake with these expectations, by table and name."""
    declared = [parse_expectation(table, name, each) for table, of in entries.items() for name, each in of.items()]
    return parse_lake_spec(copy.deepcopy(DOCUMENT), expectations=tuple(declared))


def column(source: str, name: str = "", *, is_gone: bool = False) -> Column:
    return Column(source=source, name=name or source, type="string", added="1", since="1", is_gone=is_gone)


SPEC = spec_with()
ORDERS = (column("Id", "id"), column("total", "amount"), column("email"))


def expected_of(spec: LakeSpec, **columns: tuple[Column, ...]) -> TableExpectations:
    return TableExpectations(spec=spec, columns_of=lambda name: columns.get(name, ()))


def mirror_of(spec: LakeSpec) -> TableSpec:
    (mirror,) = (each for each in spec.mirrors if each.name == "orders")
    return mirror


def test_a_new_column_is_expected_to_be_as_usual_without_an_entry():
    spec = spec_with()
    before, after = (expected_of(spec, orders=of).of("orders") for of in (ORDERS, (*ORDERS, column("paid"))))
    assert [(each.name, each.kind.value, each.action.value) for each in before] == [
        ("id_is_known", "not_null", "stop"),
        ("amount_nulls_as_usual", "usual", "warn"),
        ("email_nulls_as_usual", "usual", "warn"),
        ("row_key_is_unique", "unique", "stop"),
    ]
    assert {each.name for each in after} - {each.name for each in before} == {"paid_nulls_as_usual"}
    assert all(each.is_implied for each in after)
    assert expected_of(spec).of("orders") == (), "nothing is known of a table without events"


def test_nothing_is_implied_of_what_is_gone_dropped_or_technical():
    gone = (*ORDERS, column("left", is_gone=True), column("note"), column("odd", "odd__"))
    assert expected_of(spec_with(), orders=gone).of("orders") == expected_of(spec_with(), orders=ORDERS).of("orders")


def test_an_expectation_waits_for_its_column_and_is_checked_from_then_on():
    entries: dict[str, Any] = {
        "dear": {"column": "amount", "between": [0, 100]},
        "paid": {"holds": "amount > 0 OR paid = 'yes'"},
        "some": {"column": "amount", "not_null": True, "where": "kind = 'a'"},
        "cart": {"column": "amount", "refers_to": "carts.total"},
    }
    spec = spec_with(orders=entries, rates={"cart": {"column": "bank", "refers_to": "carts.total"}})
    expected = expected_of(spec, orders=ORDERS)
    assert [each.name for each in expected.of("orders") if not each.is_implied] == ["dear"]
    assert expected.waiting("orders") == (
        "orders: paid waits: there is no column paid yet",
        "orders: some waits: there is no column kind yet",
        "orders: cart waits: there is no column carts.total yet",
    )
    assert expected.waiting("rates") == ("rates: cart waits: there is no column carts.total yet",)
    assert [each.name for each in expected.of("rates")] == ["bank_is_known"]
    later = expected_of(spec, orders=(*ORDERS, column("paid"), column("kind")), carts=(column("total"),))
    assert [each.name for each in later.of("orders") if not each.is_implied] == [*entries]
    assert later.waiting("orders") == later.waiting("rates") == ()


def test_an_entry_of_the_same_name_takes_the_place_of_an_implied_one():
    entry = {"usual": "nulls", "column": "amount", "from_rows": 5, "action": "stop"}
    found = expected_of(spec_with(orders={"amount_nulls_as_usual": entry}), orders=ORDERS).of("orders")
    (own,) = (each for each in found if each.name == "amount_nulls_as_usual")
    assert (own.is_implied, own.from_rows, own.action) == (False, 5, Action.STOP)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"column": "total", "not_null": True}, "column 'total' of orders is called amount in the lake; name another"),
        ({"holds": "note <> ''"}, "column 'note' of orders is dropped, and never reaches the lake"),
        ({"column": "row_order", "not_null": True}, "column 'row_order' of orders is none that readers see"),
        ({"column": "carts", "refers_to": "carts.is_deleted"}, "'is_deleted' of carts is none that readers see"),
        ({"column": "carts", "refers_to": "baskets.id"}, "refers_to is 'baskets.id'; give table.column"),
        ({"holds": "amount >"}, "cannot be read"),
        ({"holds": "1 = 1"}, "names no column"),
        ({"holds": "SUM(amount) > 1"}, "one value of one row"),
        ({"holds": "amount::string = 'a'"}, "not one text for all engines"),
        ({"column": "amount", "not_null": True, "action": "quarantine"}, "expectation of shop_log"),
        ({"usual": "rows", "where": "amount > 1"}, "take where out"),
    ],
)
def test_an_expectation_that_can_never_be_checked_is_refused_before_any_event(entry: dict[str, Any], reason: str):
    with pytest.raises(ContractError, match=r"expectation orders\.it_is_so: ") as caught:
        expectations_of(spec_with(orders={"it_is_so": entry}), "orders")
    assert reason in str(caught.value)
    assert is_clear(str(caught.value), most=600)


def test_every_column_of_a_key_is_known_and_of_no_other_mirror():
    """Whatever their order, and wherever they are among the columns."""
    lines = replace(mirror_of(SPEC), key=("Line", "Id"), drop=(), mask=())
    columns = (column("total"), column("Id", "id"), column("day"), column("Line", "line"), column("id_", "id_"))
    found = {each.name: each.columns for each in implied_of_mirror(SPEC, lines, columns)}
    assert {columns for name, columns in found.items() if name.endswith("_is_known")} == {("id",), ("line",)}
    usual = {columns for name, columns in found.items() if name.endswith("_as_usual")}
    assert usual == {("total",), ("day",), ("id_",)}
    assert found["row_key_is_unique"] == ("row_key",)


@given(st.sets(st.from_regex(r"[a-z](_?[a-z0-9]){0,10}", fullmatch=True), max_size=6), st.integers(0, 50))
def test_names_of_implied_expectations_are_names_and_are_unique(ends: set[str], length: int):
    """Also of columns whose long names begin alike: an expectation refuses a name of too many letters itself."""
    columns = tuple(column("x" * length + end) for end in sorted(ends - {"id", "note"}))
    found = [each.name for each in implied_of_mirror(SPEC, mirror_of(SPEC), columns)]
    assert len(found) == len(set(found))
    assert len(found) == len(columns) + bool(columns), "one for each column, and that the key is unique"


def test_a_dropped_column_of_other_letters_is_in_no_expectations_way():
    """No name in the lake can be made of it, so no expectation can name it."""
    document = copy.deepcopy(DOCUMENT)
    document["mirrors"][0]["drop"] = ["价格", "note"]
    entries = {"dear": {"holds": "amount > 0"}, "noted": {"holds": "note <> ''"}}
    declared = tuple(parse_expectation("orders", name, entry) for name, entry in entries.items())
    with pytest.raises(ContractError, match="column 'note' of orders is dropped"):
        expectations_of(parse_lake_spec(document, expectations=declared), "orders")
    found = expectations_of(parse_lake_spec(document, expectations=declared[:1]), "orders")
    assert [each.name for each in found] == ["dear"]
