"""serve copies the rows of a mart's Hudi table to the serving store, each commit as it was, and reads no mart twice.

The mart fast_daily_deals gets two commits of its own form on storage. The first: agents 1, 2 and 3 with 1, 2 and 3
deals. The second: agent 2 has 5 deals, agent 3 none any more, agent 4 is new. fast_hourly_events has no commit.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError, TableBusyError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import serve as job
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.visible import served_tables
from spark_jobs.pipelines.serving import serve_marts
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import mart_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.serving.address import parse_address
from spark_jobs.storage.serving.store import ServingStore
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.writer import commit
from tests.support.commands import init, run, run_well
from tests.support.contexts import CLOCK, context_of, run_in
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake

MART, EMPTY = "fast_daily_deals", "fast_hourly_events"
NAMES = ("units", "projects", "statuses")
"""Tables that are served beside the marts of any layer."""
COLUMNS = (
    "cell_id string, day string, project_id bigint, agent_id bigint, deals bigint, contract_total decimal(38,4), "
    "contract_total__count bigint, _hoodie_is_deleted boolean"
)
TOTAL = Decimal("9999999999999999999999999999999999.0001")
FIRST = [(agent, agent, False) for agent in (1, 2, 3)]
SECOND = [(2, 5, False), (3, 3, True), (4, 1, False)]


def write(
    lake: Lake, rows: Sequence[tuple[int, int, bool]], *, clock: datetime = CLOCK, is_first: bool = False
) -> Instant:
    """Commit rows of the mart as its own job does: key, columns, a technical one, deletes as a mark."""
    mart = load_lake_spec(lake.settings.lake_spec).mart(MART)
    values = [(f"|{a}", "2026-01-02", None, a, deals, TOTAL, deals, is_gone) for a, deals, is_gone in rows]
    rows_df = lake.spark.createDataFrame(values, COLUMNS)
    metadata = {"clock": format_clock(clock)}
    return commit(rows_df, mart_layout(mart), metadata=metadata, settings=lake.settings, is_first=is_first).instant


def query(lake: Lake, sql: str) -> list[Any]:
    file = f"{lake.settings.base_path}/.serving/serving.sqlite"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def served(lake: Lake) -> tuple[set[str], list[tuple[int, int]]]:
    """Instant and deals by agent."""
    rows = query(lake, f"SELECT agent_id, deals FROM {MART} ORDER BY agent_id")
    return {row[0] for row in query(lake, f"SELECT instant FROM served_marts WHERE mart = '{MART}'")}, rows


@pytest.mark.hudi
def test_the_newest_commit_is_served_once(lake: Lake):
    one = write(lake, FIRST, is_first=True)
    result = lake.run("serve", layer=["fast"])
    by_mart = {outcome.table: outcome for outcome in result.tables}
    assert set(by_mart) == {MART, EMPTY, "units"}, "of the served tables this lake has one"
    assert (by_mart[MART].instant, by_mart[MART].rows, by_mart[MART].is_committed) == (one, 3, True)
    assert (by_mart[EMPTY].instant, by_mart[EMPTY].is_committed) == (None, False)
    assert set(result.messages) == {f"{name} has no commit yet: nothing to serve" for name in (EMPTY, "units")}
    assert result.status == DONE
    assert served(lake) == ({one}, [(1, 1), (2, 2), (3, 3)])
    columns = [row[1] for row in query(lake, f"PRAGMA table_info({MART})")]
    assert columns == ["day", "project_id", "agent_id", "deals", "contract_total", "row__key"]
    assert query(lake, f"SELECT DISTINCT contract_total, project_id FROM {MART}") == [(str(TOTAL), None)]

    again = lake.run("serve", layer=["fast"], mart=[MART])
    assert (again.status, [o.is_committed for o in again.tables]) == (NOTHING_TO_DO, [False])

    two = write(lake, SECOND)
    second = lake.run("serve", layer=["stitch,fast"], mart=[MART])
    assert second.tables[0].instant == two
    assert second.messages == (f"{MART}: all rows are written because a commit since then kept no changes",)
    assert served(lake) == ({two}, [(1, 1), (2, 5), (4, 1)])


@pytest.mark.hudi
def test_rows_are_those_of_the_commit_that_is_named(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """Between the look at the timeline and the read, the mart is committed again: the rows must not be the new ones."""
    one = write(lake, FIRST, is_first=True)
    commits: list[str] = []

    def overtaken(*arguments: Any) -> Any:
        if not commits:
            commits.append(write(lake, SECOND))
        return read_table(*arguments)

    monkeypatch.setattr("spark_jobs.pipelines.mart_rows.read_table", overtaken)
    assert lake.run("serve", layer=["fast"], mart=[MART]).tables[0].instant == one
    assert served(lake) == ({one}, [(1, 1), (2, 2), (3, 3)])
    assert lake.run("serve", layer=["fast"], mart=[MART]).tables[0].instant == commits[0]
    assert served(lake) == ({commits[0]}, [(1, 1), (2, 5), (4, 1)])


@pytest.mark.hudi
def test_a_restored_mart_and_a_clock_that_moves_on(lake: Lake):
    """The mart's folder is put back as it was after the first commit; then a run finds nothing new an hour later."""
    one = write(lake, FIRST, is_first=True)
    copy = lake.folder / "copy"
    shutil.copytree(lake.path(MART), copy)
    two = write(lake, SECOND, clock=CLOCK + timedelta(minutes=5))
    lake.run("serve", layer=["fast"])
    assert served(lake)[0] == {two}
    shutil.rmtree(lake.path(MART))
    copy.rename(lake.path(MART))
    assert lake.run("serve", layer=["fast"], mart=[MART]).tables[0].is_committed
    assert served(lake) == ({one}, [(1, 1), (2, 2), (3, 3)])

    def clock() -> datetime:
        ((text,),) = query(lake, f"SELECT clock FROM served_marts WHERE mart = '{MART}'")
        return datetime.fromisoformat(text).replace(tzinfo=UTC)

    assert clock() == CLOCK
    later = CLOCK + timedelta(hours=1)
    state = ConsumerState(tables={MART: one}, notes={"clock": format_clock(later)})
    ConsumerRegistry(lake.settings.base_path).write(MART, state, later)
    assert lake.run("serve", layer=["fast"], mart=[MART]).status == NOTHING_TO_DO
    assert clock() == later
    stale = ConsumerState(tables={MART: two}, notes={"clock": format_clock(later + timedelta(hours=1))})
    ConsumerRegistry(lake.settings.base_path).write(MART, stale, later)
    lake.run("serve", layer=["fast"], mart=[MART])
    assert clock() == CLOCK, "a note about another state of the mart is not believed"


@pytest.mark.spark
def test_one_writer_a_mart(lake: Lake):
    impatient = replace(lake.settings, lease_wait_seconds=0)
    context = context_of("serve", impatient, spark=lake.spark, clock=CLOCK, layer=["fast"], mart=[MART])
    with hold_tables((f"{MART}.serving",), job="another", settings=impatient), pytest.raises(TableBusyError):
        run_in(context)


@pytest.fixture(scope="module")
def spec() -> LakeSpec:
    return load_lake_spec(Settings().lake_spec)


@pytest.mark.parametrize("layers", [["fast"], ["stitch"], ["slow"], ["fast", "stitch"], ["slow", "stitch", "fast"]])
def test_every_mart_of_every_layer_is_served_and_no_cache(spec: LakeSpec, layers: list[str]):
    def names_of(**options: Any) -> list[str]:
        return [mart.name for mart in job._marts_of(context_of("serve", Settings(), spec=spec, **options))]

    expected = {mart.name for mart in spec.marts if mart.layer in layers and mart.served} - set(spec.caches)
    assert expected
    for given in (layers, [",".join(layers)], [*layers, *layers]):
        assert set(names_of(layer=given)) == expected
        assert len(names_of(layer=given)) == len(expected)
        for mart in expected:
            assert names_of(layer=given, mart=[mart]) == [mart]
        assert set(names_of(layer=given, mart=sorted(expected))) == expected
        assert set(names_of(layer=given, mart=[",".join(expected)])) == expected


def test_tables_with_names_come_with_every_layer_and_none_with_named_marts(spec: LakeSpec):
    def names_of(**options: Any) -> list[str]:
        return [table.name for table in job._tables_of(context_of("serve", Settings(), spec=spec, **options))]

    assert sorted(names_of(layer=["slow"])) == sorted(names_of(layer=["fast,stitch"])) == sorted(NAMES)
    assert names_of(layer=["fast"], mart=[MART]) == []


def test_people_and_rows_of_single_sales_stay_in_the_lake(spec: LakeSpec):
    assert {mart.name for mart in spec.marts if not mart.served} == {
        "slow_sale_paths",
        "slow_milestones",
        "slow_customer_demand",
    }
    for table in served_tables(spec):
        assert not columns_of_people(spec, table.name) & {*table.columns}, "all its columns are in the store"


def test_what_is_in_the_store_and_not_served_any_more_is_named(spec: LakeSpec):
    context = context_of("serve", Settings(), spec=spec, layer=["fast"])
    there = {MART, "slow_milestones", "agents", "of_another_lake"}
    assert [line.split(" ")[0] for line in job._left_behind(context, there)] == ["slow_milestones", "agents"]
    assert job._left_behind(context, {MART, *NAMES}) == []


@pytest.mark.hudi
def test_a_table_is_served_as_it_is_now_without_deleted_rows_and_names_of_people(lake: Lake):
    """A name changes and a sale is deleted; agents are served for this test, and only their numbers arrive."""
    spec = load_lake_spec(lake.settings.lake_spec)
    tables = tuple(replace(table, served=table.name in ("units", "agents", "sales")) for table in spec.tables)
    spec = replace(spec, tables=tables, marts=())

    def serve_tables() -> dict[str, list[Any]]:
        context = context_of("serve", lake.settings, spark=lake.spark, clock=CLOCK, spec=spec, layer=["fast"])
        store = ServingStore(parse_address(lake.settings), wait_seconds=60)
        serve_marts(context, served_tables(spec), store, ())
        columns = {each.name: (each.key_column, *each.columns) for each in served_tables(spec)}
        columns["agents"] = ("agent_id",)
        return {name: query(lake, f"SELECT {', '.join(those)} FROM {name}") for name, those in columns.items()}

    def event(op: str, place: int, name: str) -> bytes:
        row = {"SaleId": 1, "AgentId": 7, "AgentName": "Ann", "ProjectId": 3, "UnitName": name, "UnitId": 5}
        return line(sqlserver(op, row, place))

    lake.land("1.jsonl", [event("c", 1, "Old")])
    lake.run("ingest")
    lake.run("split")
    first = serve_tables()
    assert (first["units"], first["agents"], len(first["sales"])) == ([(5, "Old", None, 3)], [(7,)], 1)
    assert [row[1] for row in query(lake, "PRAGMA table_info(agents)")] == ["agent_id", "row__key"]
    lake.land("2.jsonl", [event("u", 2, "New"), event("d", 3, "New")])
    lake.run("ingest")
    lake.run("split")
    second = serve_tables()
    assert (second["units"], second["agents"], second["sales"]) == ([(5, "New", None, 3)], [(7,)], [])


@pytest.mark.spark
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layer": ["fats"]}, "--layer 'fats': the marts that can be served are of the layers ['fast'"),
        ({"layer": [","]}, "--layer ''"),
        ({"layer": ["fast", "nothing"]}, "--layer 'fast,nothing'"),
        ({"layer": ["fast"], "mart": ["stitch_agent_contracts"]}, "--mart stitch_agent_contracts: of these layers are"),
        ({"layer": ["stitch"], "mart": ["stitch_agent_days"]}, "--mart stitch_agent_days: of these layers are"),
    ],
)
def test_what_cannot_be_chosen(lake: Lake, options: dict[str, Any], words: str):
    with pytest.raises(ContractError) as caught:
        lake.run("serve", **options)
    assert words in str(caught.value)


@pytest.mark.hudi
@pytest.mark.e2e
@pytest.mark.slice(name="databases")
def test_from_the_command_line(lake: Lake):
    """The password comes in by the environment, and no line that goes out has it."""
    one = write(lake, FIRST, is_first=True)
    base = {"LAKEHOUSE_BASE_PATH": lake.settings.base_path, "LAKEHOUSE_LANDING_PATH": lake.settings.landing_path}
    init(base)
    result = run_well("serve", "--layer", "fast,stitch", "--mart", MART, environment=base)
    assert [(o.table, o.instant, o.rows) for o in result.tables] == [(MART, one, 3)]
    secret = "hunter-two"
    url = f"postgresql://me:{secret}@127.0.0.1:1/db"
    code, output, errors = run("serve", "--layer", "fast", environment={**base, "LAKEHOUSE_SERVING_URL": url})
    assert (code, output) == (1, "")
    assert errors[-1].startswith("try again: serving store postgresql://127.0.0.1:1/db: ")
    assert not [line for line in errors if secret in line]
