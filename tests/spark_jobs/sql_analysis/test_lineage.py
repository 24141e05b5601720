"""Column lineage of the shipped lakes by what a reader of their SQL says, and of made queries by how they were made."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.lineage import ColumnInput, lineage_of

SPEC = load_lake_spec(Settings().lake_spec)
COMPANY = load_lake_spec(str(PROJECT_ROOT / "include" / "lakes" / "company.yaml"))
MARTS = [(spec, mart.name) for spec in (SPEC, COMPANY) for mart in spec.marts]


def names_of(inputs: tuple[ColumnInput, ...]) -> set[str]:
    return {f"{each.table}.{each.column}" for each in inputs}


def test_a_mart_of_a_join_has_the_columns_of_both_tables() -> None:
    columns = lineage_of(SPEC, "fast_daily_deals").columns
    assert {name: names_of(inputs) for name, inputs in columns.items()} == {
        "day": {"sales.contract_signing_date"},
        "project_id": {"units.project_id"},
        "agent_id": {"sales.agent_id"},
        "deals": set(),
        "contract_total": {"sales.contract_subtotal"},
    }


def test_a_rule_of_the_business_is_no_column() -> None:
    columns = lineage_of(SPEC, "slow_agent_performance").columns
    assert names_of(columns["performance"]) == {"slow_milestones.contract_subtotal"}
    assert columns["rules_version"] == ()


@pytest.mark.parametrize(("spec", "name"), MARTS, ids=[name for _, name in MARTS])
def test_of_every_shipped_mart_every_column_is_known(spec: LakeSpec, name: str) -> None:
    found = lineage_of(spec, name)
    assert found.problem == ""
    assert found.columns
    assert found.reads == spec.sources_of(spec.mart(name))


def test_a_table_of_the_wide_log_has_its_columns_from_the_log() -> None:
    found = lineage_of(SPEC, "units")
    assert found.reads == (SPEC.log,)
    assert found.columns["unit_id"] == (ColumnInput(table=SPEC.log, column="unit_id"),)
    assert found.columns.keys() >= {*SPEC.table("units").key}


def test_a_table_at_the_source_leads_to_the_sources_column() -> None:
    mirror = next(each for each in COMPANY.mirrors if each.origins)
    found = lineage_of(COMPANY, mirror.name)
    inputs = {each for of in found.columns.values() for each in of}
    assert {each.table for each in inputs} == {*mirror.origins}
    assert {each.column for each in inputs} >= {*mirror.source_key}
    assert all(each.is_source for each in inputs)


def test_the_log_is_made_of_its_topics_and_results_of_nothing() -> None:
    assert lineage_of(SPEC, SPEC.log).sources == SPEC.source.topics
    assert lineage_of(SPEC, SPEC.quality.table).reads == ()


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(ContractError, match="has no table 'unit'"):
        lineage_of(SPEC, "unit")


def with_mart(sql: str) -> LakeSpec:
    mart = MartSpec(
        name="made", layer="fast", mode=MartMode.FULL, grain=("k",), reads=(ReadSpec(table="units"),), sql=sql
    )
    return replace(SPEC, marts=(*SPEC.marts, mart))


COLUMNS: tuple[str, ...] = ("unit_id", "project_id", "building_id")
LEVELS = st.lists(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=3, max_size=3), min_size=1, max_size=4
)


@given(levels=LEVELS)
@settings(max_examples=25)
def test_columns_are_followed_through_any_number_of_queries(levels: list[list[list[int]]]) -> None:
    """Each level makes three columns, each the sum of some of the three before."""
    expected = [{f"units.{name}"} for name in COLUMNS]
    sql, before = "units", COLUMNS
    for depth, level in enumerate(levels):
        names = tuple(f"c{depth}_{number}" for number in range(3))
        items = ", ".join(
            f"{' + '.join(before[at] for at in of)} AS {name}" for of, name in zip(level, names, strict=True)
        )
        sql = f"SELECT {items} FROM {sql if depth == 0 else f'({sql}) AS q{depth}'}"
        expected = [set().union(*(expected[at] for at in of)) for of in level]
        before = names
    final = f"SELECT {', '.join(f'{name} AS {out}' for name, out in zip(before, 'kab', strict=True))} FROM ({sql}) AS q"
    columns = lineage_of(with_mart(final), "made").columns
    assert [names_of(columns[name]) for name in "kab"] == expected


def test_what_is_not_certain_is_left_out_and_named() -> None:
    found = lineage_of(with_mart("SELECT unit_id AS k, nowhere AS a FROM units"), "made")
    assert names_of(found.columns["k"]) == {"units.unit_id"}
    assert "a" not in found.columns
    assert "not certain" in found.problem
