"""Who reads a column: of the shipped lakes what a person finds in their SQL, and the other direction of lineage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Expectation, Kind
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from spark_jobs.sql_analysis.column_readers import column_readers, readers_of_each
from spark_jobs.sql_analysis.lineage import lineage_of

SPEC = load_lake_spec(Settings().lake_spec)
COMPANY = load_lake_spec(str(PROJECT_ROOT / "include" / "lakes" / "company.yaml"))
VIEWS = {view.name: view.text for view in load_views(Path(Settings().views_path))}


def readers(spec: LakeSpec, table: str, column: str) -> set[str]:
    """As ``reader.column < what it reads``."""
    found = column_readers(spec, table, column, views=VIEWS if spec is SPEC else {})
    assert len(found) == len(set(map(repr, found)))
    return {f"{each.name}.{each.column} < {each.reads}" for each in found}


def with_mart(sql: str, *reads: ReadSpec) -> LakeSpec:
    mart = MartSpec(name="made", layer="fast", mode=MartMode.FULL, grain=("n",), sql=sql, reads=reads)
    return replace(SPEC, marts=(mart,))


def test_it_is_followed_through_marts_to_views() -> None:
    assert readers(SPEC, "sales", "agent_id") == {
        "fast_daily_deals.agent_id < sales.agent_id",
        "stitch_agent_days.agent_id < sales.agent_id",
        "sales_wide. < sales.agent_id",
        "deals_of_the_day. < fast_daily_deals.agent_id",
        "stitch_agent_contracts.agent_id < stitch_agent_days.agent_id",
        "agent_contract_days. < stitch_agent_days.agent_id",
        "agent_contracts. < stitch_agent_contracts.agent_id",
    }


def test_expectations_are_readers_too() -> None:
    found = readers(SPEC, "sales", "contract_signing_date")
    assert {
        "signed_has_a_day. < sales.contract_signing_date",
        "signed_has_an_amount. < sales.contract_signing_date",
    } <= found
    assert "fast_daily_deals.day < sales.contract_signing_date" in found


def test_what_only_chooses_groups_or_joins_rows_names_the_column() -> None:
    reads = (ReadSpec(table="sales"), ReadSpec(table="units"))
    sql = "SELECT s.status_id AS n FROM sales AS s JOIN units AS u ON s.unit_id = u.unit_id WHERE s.customer_id = 1"
    made = with_mart(sql, *reads)
    for table, column, having in (
        ("sales", "status_id", "made.n"),
        ("sales", "unit_id", "made."),
        ("units", "unit_id", "made."),
        ("sales", "customer_id", "made."),
    ):
        assert f"{having} < {table}.{column}" in readers(made, table, column)
    for table, column in (("sales", "agent_id"), ("units", "project_id"), ("customers", "customer_id")):
        assert not any(each.startswith("made.") for each in readers(made, table, column))


def test_every_column_counts_where_all_are_selected() -> None:
    made = with_mart("SELECT sale_id AS n FROM (SELECT * FROM sales) AS every", ReadSpec(table="sales"))
    assert "made. < sales.agent_id" in readers(made, "sales", "agent_id")


def test_a_view_that_says_no_table_may_read_each_that_has_the_column() -> None:
    views = {
        "plain": "SELECT agent_id FROM sales JOIN units ON sales.unit_id = units.unit_id",
        "whole": "SELECT * FROM quarantine",
        "rejected": "SELECT reason FROM quarantine",
        "over": "SELECT n FROM rejected",
    }
    names = {
        place: [each.name for each in column_readers(SPEC, *place, views=views) if each.kind == "view"]
        for place in (("sales", "agent_id"), ("units", "agent_id"), ("quarantine", "reason"), ("quarantine", "raw"))
    }
    assert [*names.values()] == [["plain"], [], ["rejected", "whole", "over"], ["whole"]]


def test_a_reference_from_another_table_is_a_reader() -> None:
    refers = Expectation(
        table="sales", name="unit_is_there", kind=Kind.REFERS_TO, columns=("unit_id",), refers_to="units.unit_id"
    )
    assert "sales.unit_is_there. < units.unit_id" in readers(replace(SPEC, expectations=(refers,)), "units", "unit_id")


@pytest.mark.parametrize("spec", [SPEC, COMPANY], ids=["sales", "company"])
def test_whoever_has_a_value_by_lineage_reads_the_column(spec: LakeSpec) -> None:
    found = readers_of_each(spec, views={})
    inputs = {
        ((each.table, each.column), f"{name}.{column}")
        for name in spec.table_names
        for column, of in lineage_of(spec, name).columns.items()
        for each in of
        if not each.is_source
    }
    assert len(inputs) > 15
    assert [each for each in inputs if each[1] not in {f"{r.name}.{r.column}" for r in found[each[0]]}] == []


def test_a_table_that_there_is_not_is_refused() -> None:
    with pytest.raises(ContractError, match="has no table 'uints'"):
        column_readers(SPEC, "uints", "unit_id", views={})
