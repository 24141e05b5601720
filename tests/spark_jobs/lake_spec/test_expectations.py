"""Expectations as contracts: what an entry may say, and what is checked of it against the lake spec."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_spec.expectations import Action, QuarantineLimit
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.expectation_file import load_expectations, parse_expectation
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.expectation_sql import expectations_of
from tests.support.hostile_names import HOSTILE, is_clear

INCLUDE = PROJECT_ROOT / "include"


@pytest.fixture(scope="module")
def spec() -> LakeSpec:
    return load_lake_spec(Settings().lake_spec)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for folder in ("lakes", "marts", "expectations"):
        shutil.copytree(INCLUDE / folder, tmp_path / folder)
    return tmp_path


def declare(lake: Path, table: str, **entries: Any) -> LakeSpec:
    (lake / "expectations" / f"{table}.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    return load_lake_spec(str(lake / "lakes" / "sales.yaml"))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"column": "agent_id", "not_null": True}, "agent_id not null"),
        ({"column": "contract_subtotal", "between": [0, 9.5]}, "contract_subtotal between 0 and 9.5"),
        ({"column": "contract_subtotal", "between": [None, 9]}, "contract_subtotal at most 9"),
        ({"column": "contract_subtotal", "between": [1, None]}, "contract_subtotal at least 1"),
        ({"column": "status_id", "one_of": [1, 2]}, "status_id one of 1, 2"),
        ({"column": "unit_name", "matches": "^A"}, "unit_name matches ^A"),
        ({"holds": "a >\n b"}, "a > b"),
        ({"holds": "a > b", "where": "c"}, "a > b where c"),
        ({"rows": [1, None]}, "rows at least 1"),
        ({"column": "contract_subtotal", "mean": [1, 2]}, "contract_subtotal mean between 1 and 2"),
        ({"column": "a", "not_null": True, "tolerate_percent": 0.5}, "a not null, but for 0.5%"),
        ({"usual": "rows"}, "rows as usual"),
        ({"column": "agent_id", "usual": "nulls", "where": "c"}, "agent_id nulls as usual where c"),
        ({"column": "contract_subtotal", "usual": "mean"}, "contract_subtotal mean as usual"),
    ],
)
def test_an_entry_says_what_is_expected(entry: dict[str, Any], expected: str):
    expectation = parse_expectation("sales", "it_is_so", entry)
    assert expectation.expected == expected
    assert (expectation.id, expectation.action) == ("sales.it_is_so", Action.WARN)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "give one of"),
        ({"column": "a", "not_null": True, "one_of": [1]}, "give one of"),
        ({"column": "a", "not_null": False}, "give true"),
        ({"column": "a", "not_null": True, "colum": 1}, "unknown entries"),
        ({"not_null": True}, "needs the one column"),
        ({"columns": ["a", "b"], "not_null": True}, "needs the one column"),
        ({"column": 7, "not_null": True}, "give column: name"),
        ({"unique": True}, "unique needs the columns that are unique together; add columns: [name, …]"),
        ({"columns": [], "unique": True}, "unique needs the columns"),
        ({"column": "a", "between": [1]}, "give [least, most]"),
        ({"column": "a", "between": [None, None]}, "one of them may be null"),
        ({"column": "a", "between": [True, None]}, "is no value"),
        ({"column": "a", "one_of": []}, "give a list of values"),
        ({"column": "a", "one_of": 3}, "give a list of values"),
        ({"column": "a", "holds": "a"}, "take column out"),
        ({"holds": 7}, "condition is 7; give text"),
        ({"rows": [1, 2], "action": "quarantine"}, "use warn or stop"),
        ({"rows": [1, 2], "tolerate_percent": 5}, "take it out"),
        ({"column": "a", "not_null": True, "action": "shout"}, "choose one of"),
        ({"column": "a", "not_null": True, "action": "quarantine", "tolerate_percent": 5}, "take it out"),
        ({"column": "a", "not_null": True, "tolerate_percent": 100}, "below 100"),
        ({"column": "a", "not_null": True, "tolerate_percent": "few"}, "give a number"),
        ({"column": "a", "not_null": True, "from_rows": 0}, "give 1 or more"),
        ({"column": "a", "not_null": True, "says": "two\nlines"}, "one line"),
        ({"usual": "columns"}, "choose one of ['rows', 'nulls', 'mean']"),
        ({"usual": "rows", "column": "a"}, "rows is about whole rows; take column out"),
        ({"usual": "mean"}, "needs the one column"),
        ({"usual": "rows", "action": "quarantine"}, "use warn or stop"),
        ({"usual": "rows", "tolerate_percent": 5}, "take it out"),
    ],
)
def test_an_entry_that_contradicts_itself_is_refused(entry: dict[str, Any], reason: str):
    with pytest.raises(ContractError) as caught:
        parse_expectation("sales", "it_is_so", entry)
    assert reason in str(caught.value)
    assert is_clear(str(caught.value), most=300)


@pytest.mark.parametrize("name", HOSTILE.values())
def test_a_hostile_name_is_refused(name: str):
    with pytest.raises(ContractError) as caught:
        parse_expectation("sales", name, {"column": "a", "not_null": True})
    assert is_clear(str(caught.value), most=300)


@pytest.mark.parametrize(
    ("table", "entry", "reason"),
    [
        ("sales", {"column": "price", "not_null": True}, "has no column 'price'"),
        ("sales", {"holds": "price > 1"}, "no column 'price'"),
        ("sales", {"holds": "unit_id >"}, "cannot be read"),
        ("sales", {"holds": "unit_id > 1) OR (1 = 1"}, "cannot be read"),
        ("sales", {"holds": "1 = 1"}, "names no column"),
        ("sales", {"holds": "unit_id > (SELECT 1)"}, "one value of one row"),
        ("sales", {"holds": "SUM(unit_id) > 1"}, "one value of one row"),
        ("sales", {"holds": "unit_id > RAND()"}, "does not give the same"),
        ("sales", {"holds": "contract_signing_date < CURRENT_DATE"}, "does not give the same"),
        ("sales", {"holds": "unit_id::string = 'a'"}, "not one text for all engines"),
        ("sales", {"column": "unit_id", "not_null": True, "where": "price"}, "no column 'price'"),
        ("sales", {"column": "unit_id", "not_null": True, "action": "quarantine"}, "expectation of sales_log"),
        ("fast_daily_deals", {"column": "sale_id", "not_null": True}, "has no column 'sale_id'"),
        ("sales", {"usual": "rows", "where": "unit_id > 1"}, "take where out"),
        (
            "sales",
            {"column": "unit_id", "refers_to": "units.unit"},
            "units has no column 'unit'; write 'unit_id', it has",
        ),
    ],
)
def test_what_does_not_fit_the_table_is_refused(lake: Path, table: str, entry: dict[str, Any], reason: str):
    found = declare(lake, table, it_is_so=entry)
    with pytest.raises(ContractError, match=f"expectation {table}.it_is_so: ") as caught:
        expectations_of(found, table)
    assert reason in str(caught.value)
    assert is_clear(str(caught.value), most=600)


def test_what_the_spec_says_itself_comes_first(spec: LakeSpec):
    found = expectations_of(spec, "sales")
    assert [each.name for each in found if each.is_implied] == ["key_is_known"]
    assert next(each.name for each in found if not each.is_implied) == "unit_is_known_to_every_sale"
    assert expectations_of(spec, "slow_agent_success") == ()
    assert {each.columns for each in expectations_of(spec, spec.log) if each.is_implied} >= {("event_id",), ("op",)}


def test_a_name_that_the_spec_uses_itself_is_refused(lake: Path):
    found = declare(lake, "sales", key_is_known={"column": "unit_id", "not_null": True})
    with pytest.raises(ContractError, match=r"'sales\.key_is_known'. are there twice"):
        expectations_of(found, "sales")


@pytest.mark.parametrize("table", ["invoices", "quarantine", "lake_quality"])
def test_a_file_of_no_table_is_refused(lake: Path, table: str):
    with pytest.raises(ContractError, match=f"expectations: .'{table}'. is no table of rows"):
        declare(lake, table, it_is_so={"rows": [1, None]})


def test_a_folder_or_file_that_cannot_be_read(lake: Path):
    with pytest.raises(SettingsError, match="there is no folder"):
        load_expectations(lake / "nowhere")
    (lake / "expectations" / "sales.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"sales.yaml cannot be read"):
        load_expectations(lake / "expectations")
    (lake / "expectations" / "sales.yaml").write_text("[a]", encoding="utf-8")
    with pytest.raises(ContractError, match=r"sales.yaml:1: the file must be a mapping"):
        load_expectations(lake / "expectations")


def test_a_limit_is_an_expectation_of_the_log():
    assert QuarantineLimit().expectation("log") is None
    limit = QuarantineLimit(most_percent=20, from_records=50).expectation("log")
    assert limit is not None
    assert (limit.tolerate_percent, limit.from_rows, limit.action) == (Decimal(20), 50, Action.STOP)
    for wrong in ({"most_percent": 101}, {"most_percent": -1}, {"from_records": 0}):
        with pytest.raises(ContractError, match="quarantine_limit"):
            QuarantineLimit(**wrong)
