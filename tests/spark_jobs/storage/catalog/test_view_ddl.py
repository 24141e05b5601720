"""The statements for readers' views, over tables made by hand.

Fixture: ``sales`` has ``status_id`` with its order and ``is_deleted``; ``sales_log`` a key and the event's day.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.lake_spec.visible import hides_deleted
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.catalog.view_ddl import ViewDdl, ViewEngine, build_views
from spark_jobs.storage.layouts import all_layouts
from tests.support.athena_api import running_athena, statements
from tests.support.contexts import context_of, run_in
from tests.support.hand_made_lakes import LOG_COLUMNS, SALES_COLUMNS, HandMadeLake


@pytest.fixture
def lake(tmp_path: Path) -> HandMadeLake:
    made = HandMadeLake(tmp_path / "lake")
    made.commit("sales", 1, SALES_COLUMNS)
    made.commit("agents", 1, {"agent_id": "long", "agent_name": "string", "agent_name_order": "string"})
    made.commit("sales_log", 1, LOG_COLUMNS | {"agent_name": "string"})
    made.commit("quarantine", 1, {"record_hash": "string", "raw": "bytes"})
    made.commit(
        "stitch_agent_contracts", 1, {"cell_id": "string", "agent_id": "long", "contracts": "long", "m__s": "long"}
    )
    return made


def build(lake: HandMadeLake, engine: ViewEngine, **options: bool) -> ViewDdl:
    spec = load_lake_spec(lake.settings.lake_spec)
    return build_views(spec, lake.settings, database="erp", engine=engine, **options)


def run(lake: HandMadeLake, action: str, **options: Any) -> JobResult:
    return run_in(context_of("views", lake.settings, action=action, **options))


def test_readers_see_live_rows_and_no_technical_columns(lake: HandMadeLake):
    made = build(lake, ViewEngine.ATHENA)
    assert made.database == "erp_views"
    assert made.statements["sales"] == (
        'CREATE OR REPLACE VIEW "erp_views"."sales" AS\n'
        'SELECT\n    "sale_id",\n    "status_id"\nFROM "erp"."sales_rt"\nWHERE NOT "is_deleted"'
    )
    assert '"m__s"' not in made.statements["stitch_agent_contracts"]
    assert '"cell_id"' not in made.statements["stitch_agent_contracts"]


@pytest.mark.parametrize(
    ("engine", "entry"),
    [(ViewEngine.ATHENA, '"sales_rt"'), (ViewEngine.TRINO, '"sales_ro"'), (ViewEngine.SPARK, "`sales_rt`")],
)
def test_each_engine_gets_the_entry_that_it_reads_rightly(lake: HandMadeLake, engine: ViewEngine, entry: str):
    assert entry in build(lake, engine).statements["sales"]


MOMENT: Any = {"type": "long", "logicalType": "timestamp-micros"}


@pytest.mark.parametrize(
    ("engine", "entry"),
    [(ViewEngine.ATHENA, '"sales_ro"'), (ViewEngine.TRINO, '"sales_ro"'), (ViewEngine.SPARK, "`sales_rt`")],
)
def test_athena_reads_base_files_where_a_shown_column_is_a_moment(lake: HandMadeLake, engine: ViewEngine, entry: str):
    """Over log files its queries of a timestamp fail or, worse, give nothing: docs/catalogs.md quotes its guide."""
    lake.commit("sales", 2, SALES_COLUMNS | {"contract_signing_date": MOMENT})
    assert entry in build(lake, engine).statements["sales"]


def test_a_moment_that_readers_are_not_shown_keeps_no_commit_from_them(lake: HandMadeLake):
    lake.commit("sales", 2, SALES_COLUMNS | {"m__at": MOMENT})
    assert '"sales_rt"' in build(lake, ViewEngine.ATHENA).statements["sales"]


def test_of_the_shipped_tables_athena_shows_every_commit_but_where_they_have_moments(whole_lake: HandMadeLake):
    """Dimensions are seen within minutes; what the table of sales lacks meanwhile is bounded by compact_minutes."""
    spec = load_lake_spec(whole_lake.settings.lake_spec)
    for table in spec.tables:
        kinds = {n: MOMENT if spec.columns_by_name[n].type == "timestamp" else "string" for n in table.columns}
        whole_lake.commit(table.name, 2, dict.fromkeys(table.key, "long") | kinds | {"is_deleted": "boolean"})
    statements = build(whole_lake, ViewEngine.ATHENA).statements
    late = {table.name for table in spec.tables if f'"{table.name}_ro"' in statements[table.name]}
    assert late == {"sales"}
    assert all(spec.targets(name).compact_minutes for name in late)


def test_quarantined_records_have_no_view(lake: HandMadeLake):
    assert "quarantine" not in build(lake, ViewEngine.TRINO).statements


def test_business_views_read_the_tables_views_and_come_after_them(lake: HandMadeLake):
    made = build(lake, ViewEngine.TRINO)
    names = list(made.statements)
    assert 'FROM "erp_views"."stitch_agent_contracts" AS stitch_agent_contracts' in made.statements["agent_contracts"]
    assert names.index("agents") < names.index("agent_contracts")
    assert "projects" in made.missing["deals_of_the_day"]


def test_names_of_people_are_masked_wherever_they_are(lake: HandMadeLake):
    made = build(lake, ViewEngine.TRINO, is_masked=True)
    assert made.database == "erp_masked"
    for table in ("agents", "sales_log"):
        assert "'***' AS \"agent_name\"" in made.statements[table]
        assert made.statements[table].count("agent_name") == 1, "the column itself is not read"
    assert '"erp_views"' not in "".join(made.statements.values())


@pytest.mark.parametrize(("is_masked", "into"), [(False, "erp_views"), (True, "erp_masked")])
def test_versions_read_the_history_in_the_same_database(lake: HandMadeLake, is_masked: bool, into: str):
    shipped = load_lake_spec(lake.settings.lake_spec)
    spec = replace(shipped, tables=tuple(replace(each, history=each.name == "agents") for each in shipped.tables))
    lake.layouts |= {layout.name: layout for layout in all_layouts(spec)}
    own = {"history__key": "string", "agent_id": "long", "agent_name": "string"}
    of_an_event = {"row_order": "string", "is_deleted": "boolean", "history__time": "long", "history__unsaid": "string"}
    lake.commit("agents_history", 1, own | of_an_event)
    made = build_views(spec, lake.settings, database="erp", engine=ViewEngine.TRINO, is_masked=is_masked)
    history, versions = made.statements["agents_history"], made.statements["agents_versions"]
    assert ("'***' AS \"agent_name\"" in history) == is_masked
    assert history.endswith('FROM "erp"."agents_history_ro"')
    assert f'FROM "{into}"."agents_history"\n' in versions
    assert "history__key" not in history + versions
    assert list(made.statements).index("agents_history") < list(made.statements).index("agents_versions")


@pytest.fixture
def whole_lake(tmp_path: Path) -> HandMadeLake:
    """Every table, with every column of the spec and all that the engine adds."""
    made = HandMadeLake(tmp_path / "whole")
    spec = load_lake_spec(made.settings.lake_spec)
    technical = ["event_order", "row_order", "deleted_order", "is_deleted", "m__s", "cell_id"]
    for table in made.layouts:
        columns = [*spec.columns_by_name, *technical]
        made.commit(table, 1, {f"{name}{end}": "string" for name in columns for end in ("", "_order")})
    return made


@pytest.mark.parametrize("engine", ViewEngine)
def test_every_name_of_a_person_is_masked_in_every_view_of_every_engine(whole_lake: HandMadeLake, engine: ViewEngine):
    spec = load_lake_spec(whole_lake.settings.lake_spec)
    people = {column for person in spec.people for column in person.columns}
    assert len(people) > 1
    masked, open_to_all = build(whole_lake, engine, is_masked=True), build(whole_lake, engine)
    assert masked.statements.keys() == open_to_all.statements.keys()
    q, seen = engine.quote, set()
    for layout in whole_lake.layouts:
        for person in people:
            statement = masked.statements.get(layout, "")
            shown = f"{q}{person}{q}" in open_to_all.statements.get(layout, "")
            assert statement.count(f"'***' AS {q}{person}{q}") == statement.count(f"{q}{person}{q}") == int(shown)
            seen |= {person} if shown else set()
    assert seen == people


@pytest.mark.parametrize("engine", ViewEngine)
@pytest.mark.parametrize("is_masked", [False, True])
def test_no_view_of_a_table_with_deleted_rows_shows_them_or_an_order(
    whole_lake: HandMadeLake, engine: ViewEngine, is_masked: bool
):
    spec = load_lake_spec(whole_lake.settings.lake_spec)
    made, q = build(whole_lake, engine, is_masked=is_masked), engine.quote
    for table in spec.tables:
        statement = made.statements[table.name]
        hides = statement.endswith(f"WHERE NOT {q}is_deleted{q}")
        assert hides == hides_deleted(table.name, spec), table.name
        shown = statement.partition("FROM")[0]
        assert not re.search(rf"{q}(\w+_order|is_deleted|_hoodie\w+){q}", shown), table.name
    assert spec.quarantine not in made.statements
    assert sum("is_deleted" in text for text in made.statements.values()) >= 1


def test_the_job_lists_and_prints_them(lake: HandMadeLake, capsys: pytest.CaptureFixture[str]):
    assert run(lake, "list").counters["views"] == 5
    listed = capsys.readouterr().out
    assert "sales_views.agent_contracts" in listed
    assert "needs fast_daily_deals, projects" in listed
    run(lake, "ddl", engine="trino", masked=True)
    printed = capsys.readouterr().out
    assert printed.startswith("CREATE SCHEMA IF NOT EXISTS sales_masked;")
    assert printed.count("CREATE OR REPLACE VIEW") == 5


def test_an_empty_lake_has_none(tmp_path: Path):
    assert run(HandMadeLake(tmp_path), "list").status == NOTHING_TO_DO


def test_statements_for_other_engines_are_given_to_these(lake: HandMadeLake):
    with pytest.raises(SettingsError, match="give the statements of 'views ddl' to trino"):
        run(lake, "apply", engine="trino")


@pytest.mark.services
def test_athena_is_given_what_changed_and_nothing_else(lake: HandMadeLake):
    with running_athena() as api:
        first = run(lake, "apply")
        assert (first.status, first.counters["made"]) == (DONE, 5)
        assert statements(api)[0] == "CREATE DATABASE IF NOT EXISTS sales_views"
        api.forget()
        assert run(lake, "apply").status == NOTHING_TO_DO
        assert [name for name, _ in api.calls] == ["GetDatabase", "GetTables"]
        assert run(lake, "apply", masked=True).counters["made"] == 5
        api.forget()
        lake.commit("agents", 2, {"agent_id": "long", "agent_name": "string", "agent_name_order": "string"})
        assert run(lake, "apply").status == NOTHING_TO_DO, "a commit is no change of a view"


@pytest.mark.services
def test_what_others_dropped_or_changed_in_athena_is_made_again_with_what_reads_it(lake: HandMadeLake):
    with running_athena() as api:
        run(lake, "apply")
        glue = boto3.client("glue")
        glue.delete_table(DatabaseName="sales_views", Name="sales")
        glue.update_table(DatabaseName="sales_views", TableInput={"Name": "agents", "ViewOriginalText": "other"})
        api.forget()
        assert run(lake, "apply").counters["made"] == 3
        views = [text.split('"')[3] for text in statements(api)[1:]]
        assert views == ["agents", "sales", "agent_contracts"], "the last one reads agents"


@pytest.mark.services
def test_a_view_whose_file_is_gone_is_dropped_unless_others_changed_it(lake: HandMadeLake, tmp_path: Path):
    shutil.copytree(lake.settings.views_path, tmp_path / "views")
    folder = tmp_path / "views" / "own"
    folder.mkdir()
    (folder / "many_agents.sql").write_text("SELECT agent_id FROM agents\n", encoding="utf-8")
    (folder / "on_many_agents.sql").write_text("SELECT agent_id FROM many_agents\n", encoding="utf-8")
    (folder / "own_agents.sql").write_text("SELECT agent_id FROM agents\n", encoding="utf-8")
    lake.settings = replace(lake.settings, views_path=str(folder.parent))
    with running_athena() as api:
        assert run(lake, "apply").counters["made"] == 8
        for name in ("many_agents", "on_many_agents", "own_agents"):
            (folder / f"{name}.sql").unlink()
        glue = boto3.client("glue")
        glue.update_table(DatabaseName="sales_views", TableInput={"Name": "own_agents", "ViewOriginalText": "other"})
        api.forget()
        assert run(lake, "apply").status == DONE
        assert statements(api) == [
            'DROP VIEW IF EXISTS "sales_views"."on_many_agents"',
            'DROP VIEW IF EXISTS "sales_views"."many_agents"',
        ]
        assert run(lake, "apply").status == NOTHING_TO_DO
        assert "own_agents" in {each["Name"] for each in glue.get_tables(DatabaseName="sales_views")["TableList"]}


def test_nothing_is_made_where_nothing_is_configured(lake: HandMadeLake):
    result = run(lake, "apply", if_configured=True)
    assert result.status == NOTHING_TO_DO
    assert "LAKEHOUSE_ATHENA_WORKGROUP is not set" in result.messages[0]


def test_it_can_be_run_as_often_as_wanted(lake: HandMadeLake):
    assert [run(lake, "ddl").status for _ in range(2)] == [DONE, DONE]
