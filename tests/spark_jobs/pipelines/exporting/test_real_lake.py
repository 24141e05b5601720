"""Answers, past states and changes of a real lake, written to files that pyarrow reads.

Two deliveries of ten changes of sales each; the tables are read by the Rust reader too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv, parquet
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import JobResult
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake, SpecLake, make_narrow_lake

pytestmark = pytest.mark.hudi

LINES = [
    line(sqlserver("d" if n == 13 else "u", {"SaleId": n % 12, "UnitId": n % 4, "UnitName": f"unit, {n}"}, n * 60))
    for n in range(20)
]


@dataclass
class Past:
    """The lake; names of its units after the first delivery and after the second, and the instant of the first."""

    lake: SpecLake
    first: dict[int, str]
    last: dict[int, str]
    instant: str


def units_of(lake: Lake) -> dict[int, str]:
    return {row["unit_id"]: row["unit_name"] for row in lake.rows("units")}


@pytest.fixture(scope="module")
def past(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Past:
    lake, names = make_narrow_lake(spark, tmp_path_factory.mktemp("past")), list[dict[int, str]]()
    for number, lines in enumerate((LINES[:10], LINES[10:])):
        lake.land(f"{number}.jsonl", lines)
        lake.run("ingest")
        lake.run("split")
        names.append(units_of(lake))
    return Past(lake, names[0], names[1], lake.instants()["units"][0].split(".")[0])


def query(past: Past, sql: str, **options: Any) -> JobResult:
    return past.lake.run("query", sql=sql, rows=1, **options)


def test_an_answer_in_parquet_has_all_rows_and_not_those_that_are_printed(past: Past, tmp_path: Path) -> None:
    result = query(past, "SELECT * FROM sales ORDER BY sale_id", output=f"{tmp_path}/sales.parquet")
    live = {row["sale_id"]: row["unit_id"] for row in past.lake.rows("sales") if not row["is_deleted"]}
    found = parquet.read_table(tmp_path / "sales.parquet").to_pylist()
    assert {row["sale_id"]: row["unit_id"] for row in found} == live
    assert result.counters["rows"] == len(found) == len(live)
    assert result.counters["files"] >= 1
    assert result.messages[0].endswith(f"files: {tmp_path}/sales.parquet")


def test_a_past_state_in_csv(past: Past, tmp_path: Path) -> None:
    for name, options, expected in (("then", {"as_of": past.instant}, past.first), ("now", {}, past.last)):
        query(past, "TABLE units", output=f"{tmp_path}/{name}.csv", **options)
        found = csv.read_csv(tmp_path / f"{name}.csv").to_pylist()
        assert {row["unit_id"]: row["unit_name"] for row in found} == expected
    assert past.first != past.last


def test_changes_between_two_moments(past: Past, tmp_path: Path) -> None:
    options: dict[str, Any] = {"table": "units", "after": past.instant, "up_to": None, "rows": 1}
    result = past.lake.run("changes", output=f"{tmp_path}/units.csv.gz", **options)
    changed = {key for key in past.first | past.last if past.first.get(key) != past.last.get(key)}
    found = csv.read_csv(tmp_path / "units.csv.gz").to_pylist()
    assert [row["unit_id"] for row in found] == sorted(changed)
    assert result.counters["rows"] == len(changed)
    newest = past.lake.instants()["units"][-1].split(".")[0]
    empty = past.lake.run("changes", output=f"{tmp_path}/none.csv", **{**options, "after": newest})
    assert (empty.status, empty.counters["rows"]) == ("nothing_to_do", 0)
    assert csv.read_csv(tmp_path / "none.csv").column_names == ["op", "unit_id", "changes"]


def test_columns_of_one_name_and_of_no_type_are_refused(past: Past, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"two columns are called 'unit_id'; give one of them another name with AS"):
        query(
            past, "SELECT u.*, s.unit_id FROM units u JOIN sales s ON u.unit_id = s.unit_id", output=f"{tmp_path}/a.csv"
        )
    with pytest.raises(ContractError, match=r"query: .*VOID"):
        query(past, "SELECT NULL AS nothing", output=f"{tmp_path}/a.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW units",
        "CREATE TABLE copied USING parquet AS SELECT * FROM units",
        "INSERT INTO units SELECT * FROM units",
        "WITH some AS (SELECT * FROM units) INSERT INTO units SELECT * FROM some",
        "FROM units INSERT INTO units SELECT *",
        "SET spark.sql.session.timeZone=Asia/Tokyo",
        "SELECT 1) AS a; DROP VIEW units; SELECT * FROM (SELECT 1",
    ],
)
def test_what_is_no_select_is_refused_before_it_is_run(past: Past, sql: str) -> None:
    zone = past.lake.spark.conf.get("spark.sql.session.timeZone")
    with pytest.raises(ContractError, match="query: it takes one SELECT; "):
        query(past, sql)
    assert past.lake.spark.conf.get("spark.sql.session.timeZone") == zone
    assert query(
        past, "-- all of them\nWITH some AS (SELECT * FROM units) SELECT * FROM some ORDER BY 1 -- done"
    ).status


def test_what_is_no_sql_is_refused_in_one_sentence(past: Past) -> None:
    with pytest.raises(ContractError, match=r"query: it takes one SELECT; .*[Ss]yntax error at or near"):
        query(past, "SELCT 1")


def test_a_view_whose_tables_are_missing_is_reported_by_queries_of_it_alone(past: Past) -> None:
    assert query(past, "SELECT 1").messages == ()
    with pytest.raises(ContractError, match=r"query: the view deals_of_the_day needs tables that do not exist yet; "):
        query(past, "SELECT COUNT(*) FROM Deals_of_the_Day")


def test_the_reason_of_a_refusal_is_whole_and_has_no_place_in_a_statement_that_no_one_wrote(past: Past) -> None:
    with pytest.raises(ContractError, match=r"at or near ';'[^(]* \(tables: "):
        query(past, "SELECT 1; SELECT 2")
    with pytest.raises(ContractError, match=r"query: .*`unit_nr`.* \(tables: ") as refused:
        query(past, "SELECT unit_nr FROM units")
    assert "pos " not in str(refused.value)
