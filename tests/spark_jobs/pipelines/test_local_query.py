"""Answers without a JVM are those of Spark.

On a real lake of two loads with a column of each type and nulls: a merge-on-read table whose second file replaced rows,
and a copy-on-write one. What is queried is made by chance from the grammar that the local engine takes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.answers import Answer, PrintedForm
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines import local_query
from spark_jobs.pipelines.local_query import AnsweredBySparkError, plan_locally
from spark_jobs.pipelines.temporary_views import register_tables
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.lake_specs import read_lake_spec
from tests.support.lakes import SpecLake, write_spec
from tests.support.loading_lakes import lake_document, write_csv

COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "type": "bigint"},
    {"name": "name", "type": "string"},
    {"name": "price", "type": "decimal", "precision": 12, "scale": 2},
    {"name": "seen_at", "type": "timestamp"},
    {"name": "is_open", "type": "boolean"},
]
THINGS = {"name": "things", "key": "id", "columns": COLUMNS}
PARTS = {"name": "parts", "key": "id", "columns": COLUMNS, "type": "copy_on_write"}
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "a", "price": "1.50", "seen_at": "2026-01-01T00:00:00Z", "is_open": "true"},
    {"id": 2, "name": "B", "price": "-10.00", "seen_at": "2026-01-02T03:04:05.123456Z", "is_open": "false"},
    {"id": 3, "name": 'ä, "ö"', "price": "9999999999.99", "is_open": "true"},
    {"id": 4, "name": "b", "seen_at": "1899-12-31T23:59:59Z"},
    {"id": 5, "price": "0.00", "seen_at": "2026-01-02T03:04:05Z", "is_open": "false"},
    {"id": 6, "name": "a", "price": "1.50", "seen_at": "2026-01-01T00:00:00Z"},
]
FIXED = (
    "SELECT * FROM things",
    "SELECT * FROM parts ORDER BY id DESC",
    "SELECT count(*), count(name), count(DISTINCT name), sum(id), sum(price), min(seen_at), max(name) FROM things",
    "SELECT name, count(*) AS n FROM things GROUP BY name ORDER BY name, n",
    "SELECT t.id, p.name FROM things AS t LEFT JOIN parts AS p ON t.id = p.id AND p.is_open ORDER BY p.name DESC, t.id",
    "SELECT t.name, p.price FROM things t JOIN parts p ON t.name = p.name WHERE p.seen_at > '2026-01-01'",
    "WITH dear AS (SELECT name, price FROM things WHERE price > 1.25) SELECT max(price) AS top FROM dear",
    "SELECT name, count(*) FROM (SELECT name FROM parts WHERE id <> 2) AS x GROUP BY name",
)


def made_by_chance(number: int) -> str:
    """A SELECT of the grammar; the same number gives the same one."""
    chance = random.Random(number)
    table = chance.choice(("things", "parts"))
    grouped = chance.sample(["name", "price", "seen_at", "is_open"], chance.randint(0, 2))
    sums = chance.sample(["count(*)", "sum(id)", "sum(price)", "min(price)", "max(seen_at)", "count(is_open)"], 2)
    tests = [
        f"price {chance.choice(('>', '<=', '='))} {chance.choice(('1.5', '0', '9999999999.99', '-10'))}",
        f"name {chance.choice(('>=', '<', '<>'))} '{chance.choice(('a', 'B', ''))}'",
        f"seen_at {chance.choice(('>', '<'))} '{chance.choice(('2026-01-01', '1900-01-01', '2026-01-02 03:04:05'))}'",
        "NOT is_open",
        "seen_at IS NOT NULL",
        "id IN (1, 3, 4, 70)",
        "id BETWEEN 2 AND 5",
    ]
    first, second = chance.sample(tests, 2)
    where = f"WHERE {first} {chance.choice(('AND', 'OR'))} {second}"
    if not grouped:
        return f"SELECT {', '.join(sums)} FROM {table} {where}"
    order = ", ".join(f"{name} {chance.choice(('ASC', 'DESC'))}" for name in grouped)
    names = ", ".join(grouped)
    return f"SELECT {names}, {', '.join(sums)} FROM {table} {where} GROUP BY {names} ORDER BY {order}"


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SpecLake:
    """The lake, and all of its tables in the session under their names."""
    folder = tmp_path_factory.mktemp("queried")
    lake = SpecLake(spark=spark, folder=folder, spec=write_spec(folder, lake_document([THINGS, PARTS])))
    names = [str(column["name"]) for column in COLUMNS]
    again = [{**row, "price": "7.77", "name": None} for row in ROWS[:3]]
    for table, rows in (("things", ROWS), ("things", again), ("parts", ROWS)):
        file = write_csv(folder / f"{table}{len(rows)}.csv", rows, names)
        lake.run("load", table=table, from_path=str(file))
    spec, settings = read_lake_spec(lake.settings), lake.settings
    register_tables(spark, spec, settings)
    return lake


def by_spark(lake: SpecLake, sql: str) -> Answer:
    found_df = lake.spark.sql(sql)
    return Answer.of(found_df.columns, found_df.collect(), None)


def in_order(sql: str, rows: Sequence[Any]) -> list[str]:
    return [repr(row) for row in rows] if "ORDER BY" in sql else sorted(map(repr, rows))


@pytest.mark.hudi
@pytest.mark.parametrize("sql", [*FIXED, *map(made_by_chance, range(10))])
def test_both_engines_give_the_same_answer(made: SpecLake, sql: str) -> None:
    here = plan_locally(sql, read_lake_spec(made.settings), made.settings).answer(None)
    there = by_spark(made, sql)
    assert here.columns == there.columns
    assert in_order(sql, here.rows) == in_order(sql, there.rows)
    for form in PrintedForm:
        assert sorted(here.lines(form)) == sorted(there.lines(form)) or "ORDER BY" not in sql


@pytest.mark.hudi
def test_a_table_with_a_pending_commit_is_sparks(made: SpecLake) -> None:
    table = Path(made.settings.table_path("things"))
    pending = table / ".hoodie" / "20990101000000000.deltacommit.requested"
    pending.touch()
    try:
        with pytest.raises(AnsweredBySparkError, match="things has an instant that is not completed"):
            plan_locally("SELECT * FROM things", read_lake_spec(made.settings), made.settings)
    finally:
        pending.unlink()


@pytest.mark.hudi
def test_a_table_that_is_written_meanwhile_is_sparks(made: SpecLake) -> None:
    planned = plan_locally("SELECT * FROM parts", read_lake_spec(made.settings), made.settings)
    later = Path(made.settings.table_path("parts")) / ".hoodie" / "20990101000000000.commit.requested"
    later.touch()
    try:
        with pytest.raises(AnsweredBySparkError, match="parts was written while it was read"):
            planned.answer(None)
    finally:
        later.unlink()


@pytest.mark.hudi
def test_the_job_prints_rows_in_a_form_and_opens_the_tables_that_are_named(
    made: SpecLake, capsys: pytest.CaptureFixture[str]
) -> None:
    result = made.run("query", sql="SELECT id FROM things ORDER BY id", engine="spark", format="csv")
    shown = capsys.readouterr().out
    assert shown.split() == ["id", "1", "2", "3", "4", "5", "6"]
    assert result.counters == {"tables": 1}


def test_tombstones_and_columns_of_the_order_are_hidden_and_times_are_in_utc() -> None:
    """As ``visible_rows`` has them for Spark; a row of which nothing says whether it was deleted is none."""
    zoned = pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 3, pa.timestamp("us", tz="UTC"))
    stored = pa.table(
        {
            "sale_id": [1, 2, 3],
            "contract_signing_date": zoned,
            "agent_id_order": ["a", "b", "c"],
            "is_deleted": [False, True, None],
        }
    )
    shown = local_query._visible(stored, "sales", load_lake_spec(Settings().lake_spec))
    moment = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    assert shown.to_pylist() == [{"sale_id": 1, "contract_signing_date": moment}]


@pytest.mark.parametrize("sql", ["TABLE sales", "SELECT 1", "SELECT * FROM db.sales", "SELECT * FROM sales_versions"])
def test_what_names_no_stored_table_is_sparks(tmp_path: Path, sql: str) -> None:
    settings = Settings(base_path=str(tmp_path))
    with pytest.raises(AnsweredBySparkError):
        plan_locally(sql, load_lake_spec(settings.lake_spec), settings)
