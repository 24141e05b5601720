"""Loads in a lake spec: what is taken, and each mistake on one line. The lake: tests.support.loading_lakes."""

from __future__ import annotations

import copy
from datetime import date
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.lake_spec.loads import LoadOperation, first_kept_day, is_day, is_partition
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.sql_analysis.expectation_sql import check_expectation, expectations_of
from spark_jobs.storage.layouts import all_layouts, load_layout
from tests.support.hostile_names import HOSTILE, is_clear
from tests.support.loading_lakes import LOADS, lake_document

SPEC = parse_lake_spec(lake_document())


def parse(**changes: Any) -> None:
    """A lake with the first load alone, some of its entries exchanged."""
    parse_lake_spec(lake_document([{**copy.deepcopy(dict(LOADS[0])), **changes}]))


def test_a_load_is_a_table_of_the_lake():
    names = [str(load["name"]) for load in LOADS]
    assert set(names) <= {*SPEC.table_names} & {*SPEC.data_tables} & {*SPEC.validated_tables}
    assert SPEC.table_names[-1] == "lake_quality"
    assert {layout.name for layout in all_layouts(SPEC)} == set(SPEC.table_names)


def test_what_is_not_declared_has_a_default():
    rates, budgets, countries = (SPEC.load(name) for name in ("merged_rates", "budgets", "countries"))
    assert (rates.operation, rates.type, rates.buckets) == (LoadOperation.UPSERT, TableType.MERGE_ON_READ, 2)
    assert (rates.record_key, rates.partition_column, rates.is_by_day) == ("cell_id", "day", True)
    assert (budgets.partition_column, budgets.is_by_day, budgets.keep_days) == ("month_day", True, 0)
    assert budgets.shown_columns == ("team", "month", "amount", "is_final", "month_day")
    assert [column.source for column in budgets.columns] == ["team", "month", "amount", "Final?"]
    assert (countries.key, countries.record_key, countries.partition_column) == (("code",), "code", "")
    assert load_layout(budgets).partition == "month_day"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "units"}, "table names used twice: ['units']"),
        ({"name": "Rates"}, "load 'Rates' is not a snake_case identifier"),
        ({"key": ["currency", "bank"]}, "key columns ['bank'] are not among its columns"),
        ({"key": []}, "needs a key"),
        ({"key": ["day", "day"]}, "needs a key"),
        ({"columns": []}, "needs columns, each once"),
        ({"columns": [{"name": "day", "type": "date"}]}, "column 'day': type 'date' is unknown"),
        ({"columns": "day"}, "columns must be a list"),
        ({"columns": ["day"]}, "a column must be a mapping"),
        ({"columns": [{"name": "cell_id", "type": "string"}], "key": "cell_id"}, "kept for technical columns"),
        ({"partition": "rate"}, "partition 'rate' is not in its key"),
        ({"partition": "bank"}, "partition 'bank' is not in its key"),
        ({"partition": ""}, "keep_days removes whole partitions; say by which day"),
        ({"partition": "", "keep_days": 0, "operation": "insert_overwrite"}, "use insert_overwrite_table"),
        ({"keep_days": -1}, "keep_days is -1"),
        ({"keep_days": "long"}, "keep_days is 'long'; give a whole number"),
        ({"operation": "merge"}, "'merge' is unknown; choose one of ['upsert', 'insert',"),
        ({"type": "row"}, "'row' is unknown"),
        ({"buckets": 0}, "buckets must be at least 1"),
        ({"speed": 1}, "unknown entries ['speed']"),
    ],
)
def test_a_mistake_is_one_line(changes: dict[str, Any], message: str):
    with pytest.raises(ContractError) as refusal:
        parse(**changes)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("entry", ["name", "key", "partition", "operation", "type", "columns"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_name_is_refused_on_one_clear_line(entry: str, what: str):
    name = HOSTILE[what]
    value = [{"name": name, "type": "string"}] if entry == "columns" else name
    with pytest.raises(ContractError) as refusal:
        parse(**{entry: value})
    assert is_clear(str(refusal.value), most=400)


def test_the_day_of_a_timestamp_has_a_column_of_its_own():
    columns = [{"name": "at", "type": "timestamp"}, {"name": "at_day", "type": "string"}]
    with pytest.raises(ContractError, match="column 'at_day' is kept for the day of at"):
        parse(key="at", partition="at", columns=columns)
    with pytest.raises(ContractError, match="partition n is a bigint; use a string or a timestamp"):
        parse(key="n", partition="n", columns=[{"name": "n", "type": "bigint"}])


def test_columns_that_name_people_are_listed_with_the_people():
    columns = [{"name": "day", "type": "string"}, {"name": "agent_name", "type": "string"}]
    with pytest.raises(ContractError, match=r"has the column agent_name, which may name them; list it below tables"):
        parse(key="day", columns=columns)


def test_a_load_that_is_none():
    with pytest.raises(ContractError, match=r"has no load 'units'; it has \['merged_rates', "):
        SPEC.load("units")


def test_rows_of_a_load_can_be_checked_and_set_aside_one_by_one():
    rule = Expectation(
        table="merged_rates", name="r", kind=Kind.BETWEEN, columns=("rate",), least="0", action=Action.QUARANTINE
    )
    check_expectation(rule, SPEC)
    assert [each.name for each in expectations_of(SPEC, "merged_rates")] == ["currency_is_known", "day_is_known"]
    with pytest.raises(ContractError, match="copied_rates has no column 'price'; it has currency, day, rate"):
        check_expectation(Expectation(table="copied_rates", name="p", kind=Kind.NOT_NULL, columns=("price",)), SPEC)


@pytest.mark.parametrize("value", ["2026-01-01", "EUR", "v1.2_x", "0"])
def test_a_partitions_name(value: str):
    assert is_partition(value)


@pytest.mark.parametrize("value", ["", "a,b", "a*", "..", "a/b", "a b", "a=b", "%20", "é", "x" * 101, "_x", "a\n"])
def test_no_partitions_name(value: str):
    assert not is_partition(value)


def test_days_and_how_long_they_stay():
    assert [is_day(text) for text in ("2026-02-28", "2026-02-30", "20260228", "2026-W01-1", "day")] == [
        True, False, False, False, False
    ]  # fmt: skip
    assert first_kept_day(date(2026, 3, 1), 1) == "2026-02-28"
    assert first_kept_day(date(2026, 3, 1), 10**7) == "0001-01-01"
