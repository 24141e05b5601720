"""What a lake's timelines and its files differ in.

Tables and marts of the shipped lake are made by hand: a commit of each says with what it was made, in the form in which
the jobs write it. Then files change.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.definitions import mart_parts
from spark_jobs.lake_spec.lake_plan import Action, DefinitionChange
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import Deletes
from spark_jobs.lake_spec.tables import Nulls, TableType
from spark_jobs.marts.definitions import changed_marts, check_definitions
from spark_jobs.pipelines.definitions import blocking_changes, check_tables, declared_form
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.forms import name_record_key
from spark_jobs.storage.layouts import StorageForm, TableLayout, history_layout, mart_layout, table_layout
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

SPEC = load_lake_spec(Settings().lake_spec)
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
DEALS = SPEC.mart("fast_daily_deals")
PERFORMANCE = SPEC.mart("slow_agent_performance")
OTHER = replace(DEALS, sql=DEALS.sql.replace("SELECT", "SELECT DISTINCT", 1))


def settings_of(folder: Path) -> Settings:
    return Settings(base_path=str(folder / "lake"))


def made_table(folder: Path, layout: TableLayout, metadata: dict[str, str]) -> None:
    made = MadeTable(layout, folder / "lake" / layout.name)
    properties = {
        "hoodie.table.version": "6",
        "hoodie.table.type": layout.type.value.upper(),
        "hoodie.table.recordkey.fields": layout.record_key,
        "hoodie.table.partition.fields": layout.partition,
    }
    text = "\n".join(f"{name}={value}" for name, value in properties.items() if value)
    (made.folder / ".hoodie/hoodie.properties").write_text(text)
    extra = {f"lakehouse.{key}": value for key, value in metadata.items()}
    id_ = "5d1a" if layout.form is StorageForm.APPENDED else "00000000-5d1a"
    stats = {"": [{"path": f"{id_}.parquet", "fileId": id_, "numWrites": 7}]}
    made.commits(1, action="commit", operationType="UPSERT", extraMetadata=extra, partitionToWriteStats=stats)


def mart_metadata(mart: MartSpec) -> dict[str, str]:
    return {"definition": mart.definition, "declared": json.dumps(mart_parts(mart, SPEC))}


def make_lake(folder: Path, spec: LakeSpec = SPEC) -> Settings:
    """Every table and mart of a spec with a commit that says so."""
    for table in spec.tables:
        made_table(folder, table_layout(table), declared_form(table, spec))
    for mart in spec.marts:
        made_table(folder, mart_layout(mart), mart_metadata(mart))
    return settings_of(folder)


def with_mart(mart: MartSpec) -> LakeSpec:
    return replace(SPEC, marts=tuple(mart if each.name == mart.name else each for each in SPEC.marts))


def with_table(name: str, **changes: Any) -> LakeSpec:
    tables = tuple(replace(each, **changes) if each.name == name else each for each in SPEC.tables)
    return replace(SPEC, tables=tables, expectations=())


def planned(spec: LakeSpec, settings: Settings) -> tuple[DefinitionChange, ...]:
    return make_plan(spec, settings, NOON).changes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The shipped lake; no test writes to it."""
    return make_lake(tmp_path_factory.mktemp("made"))


def test_a_lake_is_what_the_files_say_that_it_was_made_by(made: Settings, tmp_path: Path) -> None:
    assert planned(SPEC, made) == ()
    assert planned(SPEC, settings_of(tmp_path)) == (), "there is no table yet"


@examples(max_examples=20)
@given(
    changed=st.sets(st.sampled_from([mart.name for mart in SPEC.marts])),
    nulls=st.sets(st.sampled_from([table.name for table in SPEC.tables])),
)
def test_what_changed_is_planned_and_nothing_else(made: Settings, changed: set[str], nulls: set[str]) -> None:
    marts = tuple(replace(mart, sql=f"{mart.sql} LIMIT 1") if mart.name in changed else mart for mart in SPEC.marts)
    tables = tuple(replace(each, nulls=Nulls.VALUE) if each.name in nulls else each for each in SPEC.tables)
    found = changed_marts(marts, SPEC, made)
    assert found == dict.fromkeys((mart.name for mart in SPEC.marts if mart.name in changed), ("sql",))
    spec = replace(SPEC, tables=tables)
    assert {(each.table, each.changed, each.action) for each in planned(spec, made)} == {
        (name, ("nulls",), Action.REBUILD) for name in nulls
    }


def test_a_mart_is_recomputed_and_who_reads_it_is_named(made: Settings) -> None:
    (change,) = planned(with_mart(OTHER), made)
    assert (change.table, change.changed, change.action) == (DEALS.name, ("sql",), Action.RECOMPUTE)
    assert (change.instant, change.rows, change.remedy) == (at(1), 7, "")
    milestones = SPEC.mart("slow_milestones")
    other = replace(milestones, sql=milestones.sql.replace("SELECT", "SELECT DISTINCT", 1))
    found = changed_marts([other], SPEC, made)
    assert list(found) == ["slow_milestones"]
    with pytest.raises(DefinitionChangedError, match=r"slow_milestones: sql changed; see .* with: plan"):
        check_definitions([other], SPEC, made)
    check_definitions(SPEC.marts, SPEC, made)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"partition": "status_id"}, "partition"),
        ({"type": TableType.COPY_ON_WRITE}, "type"),
    ],
)
def test_what_is_for_good_has_a_remedy(made: Settings, changes: dict[str, Any], part: str) -> None:
    table = replace(SPEC.table("sales"), **changes)
    spec = replace(SPEC, tables=(table,), marts=(), expectations=(), people=(), table_services=())
    change = planned(spec, made)[0]
    assert (change.table, change.action) == ("sales", Action.IMPOSSIBLE)
    assert part in change.changed
    assert "declare a table under a new name" in change.remedy
    timeline = Timeline(table="sales", path=made.table_path("sales"))
    assert blocking_changes(SPEC.table("sales"), SPEC, [timeline]) == ()
    assert part in blocking_changes(table, spec, [timeline])


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"key": ("status_id",), "columns": ("sale_id", "unit_id"), "deletes": Deletes.IGNORE}, ("key",)),
        ({"deletes": Deletes.REMOVE}, ("deletes",)),
        ({"deletes": Deletes.REMOVE, "partition": "", "nulls": Nulls.VALUE}, ("deletes", "nulls")),
    ],
)
def test_a_table_is_made_again_where_its_rows_can_take_the_place_of_those_that_are_there(
    made: Settings, changes: dict[str, Any], parts: tuple[str, ...]
) -> None:
    table = replace(SPEC.table("sales"), **changes)
    spec = replace(SPEC, tables=(table,), marts=(), expectations=(), people=(), table_services=())
    change = planned(spec, made)[0]
    assert (change.table, change.changed, change.action, change.remedy) == ("sales", parts, Action.REBUILD, "")
    with pytest.raises(DefinitionChangedError, match=rf"sales: {', '.join(parts)} changed"):
        check_tables(spec, made)


def test_a_form_that_was_named_by_a_run_that_died_blocks_the_table_when_its_files_are_put_back(tmp_path: Path) -> None:
    """Its rows and its files agree then, and Hudi would refuse to write to it."""
    settings = make_lake(tmp_path)
    name_record_key(settings.table_path("sales"), "row_key")
    timeline = Timeline(table="sales", path=settings.table_path("sales"))
    assert blocking_changes(SPEC.table("sales"), SPEC, [timeline]) == ("key",)
    assert [(each.table, each.changed, each.action) for each in planned(SPEC, settings)] == [
        ("sales", ("key",), Action.REBUILD)
    ]
    removes = with_table("sales", deletes=Deletes.REMOVE)
    assert [each.changed for each in planned(removes, settings)] == [("deletes",)], "the plan of that run is not stale"


def test_marts_over_versions_are_downstream_of_the_table_whose_versions_they_are(tmp_path: Path) -> None:
    """Their history is rebuilt with it, and what decides versions is a part of their own definition."""
    over = MartSpec(
        name="moves",
        layer="slow",
        mode=MartMode.FULL,
        grain=("sale_id",),
        reads=(ReadSpec(table="sales_versions"),),
        sql="SELECT sale_id FROM sales_versions",
    )
    sales = replace(SPEC.table("sales"), history=True)
    spec = replace(SPEC, tables=(sales,), marts=(over,), expectations=(), people=(), table_services=())
    made_table(tmp_path, table_layout(sales), declared_form(sales, spec))
    other = replace(spec, tables=(replace(sales, deletes=Deletes.REMOVE),))
    (change,) = planned(other, settings_of(tmp_path))
    assert (change.table, change.action, change.downstream) == ("sales", Action.REBUILD, ("moves",))


def test_a_history_of_another_definition_blocks_its_table_too(tmp_path: Path) -> None:
    table = replace(SPEC.table("sales"), history=True)
    spec = replace(SPEC, tables=(table,), marts=(), expectations=(), people=(), table_services=())
    other = replace(table, nulls=Nulls.VALUE)  # null was a value in it
    made_table(tmp_path, table_layout(table), declared_form(table, spec))
    made_table(tmp_path, history_layout(table), declared_form(other, spec))
    (change,) = planned(spec, settings_of(tmp_path))
    assert (change.table, change.changed, change.action) == ("sales", ("nulls",), Action.REBUILD)


def test_a_mart_that_is_stored_otherwise_has_a_remedy(made: Settings, tmp_path: Path) -> None:
    (change,) = planned(with_mart(replace(DEALS, partition="day")), made)
    assert (change.changed, change.action) == (("partition",), Action.IMPOSSIBLE)
    assert "declare a mart under a new name" in change.remedy
    (paths,) = (mart for mart in SPEC.marts if mart.name == "slow_milestones")
    append = replace(paths, mode=MartMode.APPEND, reads=(ReadSpec(table=SPEC.log),), scope="", time=None, partition="")
    made_table(tmp_path, mart_layout(replace(append, partition=paths.partition)), mart_metadata(append))
    change = next(each for each in planned(SPEC, settings_of(tmp_path)) if each.table == paths.name)
    assert (change.changed, change.action) == (("mode",), Action.IMPOSSIBLE)


def test_commits_of_earlier_releases_know_a_digest_or_nothing(tmp_path: Path) -> None:
    made_table(tmp_path, mart_layout(DEALS), {"definition": DEALS.definition})
    made_table(tmp_path, mart_layout(PERFORMANCE), {})
    made_table(tmp_path, table_layout(SPEC.table("sales")), {})
    settings = settings_of(tmp_path)
    assert planned(SPEC, settings) == ()
    assert planned(with_table("units", nulls=Nulls.VALUE), settings) == ()
    (change,) = planned(with_mart(OTHER), settings)
    assert change.changed == ("definition",)


def test_a_refresh_that_changed_no_row_is_believed_as_long_as_nothing_was_committed_since(made: Settings) -> None:
    registry = ConsumerRegistry(made.base_path)
    notes = mart_metadata(OTHER)
    try:
        registry.write(DEALS.name, ConsumerState(tables={DEALS.name: at(1)}, notes=notes), NOON)
        assert changed_marts([OTHER], SPEC, made) == {}
        assert changed_marts([DEALS], SPEC, made) == {DEALS.name: ("sql",)}
        registry.write(DEALS.name, ConsumerState(tables={DEALS.name: at(0)}, notes=notes), NOON)
        assert changed_marts([OTHER], SPEC, made) == {DEALS.name: ("sql",)}
    finally:
        registry.forget(DEALS.name)


def test_a_version_that_was_edited_after_it_counted_names_its_months(tmp_path: Path) -> None:
    book = load_rules(Settings().rules_path)
    kept = {"2026-01": "v1", "2026-02": "v1", "2026-03": "v1"}
    content = {month: book.version("v1").content for month in kept} | {"2026-02": "0" * 16}
    metadata = {**mart_metadata(PERFORMANCE), "rules": json.dumps(kept), "rules_content": json.dumps(content)}
    made_table(tmp_path, mart_layout(PERFORMANCE), metadata)
    (change,) = planned(SPEC, settings_of(tmp_path))
    assert (change.changed, change.action) == (("rules v1",), Action.IMPOSSIBLE)
    assert change.remedy.startswith("put it back, or recompute 2026-02 to 2026-02 of slow_agent_performance")
