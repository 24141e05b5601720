"""The export of the dashboards fits together, and each column that it names is served: an edited mart is noticed here.

What a file refers to is looked up by UUID, as Superset does it. The columns of marts are those of their SQL, columns of
tables those of the lake spec that are no names of people.
"""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlglot
import yaml
from sqlglot import exp

from local_stack.errors import SetupError
from local_stack.install.superset_dashboards import (
    DATABASE,
    FOLDER,
    PASSWORD_MASK,
    ROOT,
    read_export,
    run,
    with_masked_password,
)
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.visible import served_tables
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.lineage import lineage_of
from spark_jobs.storage.serving.address import Database
from spark_jobs.storage.serving.tables import RECORD, ServingTables
from tests.support.superset import chart_columns, chart_metrics, files_of
from tests.support.superset_store import make_rows

SPEC = load_lake_spec(Settings().lake_spec)
DIALECTS = ("mysql", "postgres", "sqlite")
TITLES = {"Sales of the day", "Funnel and agents"}
DATASETS, CHARTS, DASHBOARDS = (files_of(kind) for kind in ("datasets", "charts", "dashboards"))
BY_UUID = {dataset["uuid"]: dataset for dataset in DATASETS.values()}
PASSWORD = "hunter-two"
PEOPLE = columns_of_people(SPEC)


@cache
def served() -> dict[str, frozenset[str]]:
    """Columns of what the serving store has."""
    marts = [mart for mart in SPEC.marts if mart.served and mart.name not in SPEC.caches]
    found = {mart.name: frozenset(lineage_of(SPEC, mart.name).columns) for mart in marts}
    found |= {table.name: frozenset({*table.key, *table.columns} - PEOPLE) for table in served_tables(SPEC)}
    return {**found, RECORD: frozenset(ServingTables(Database.SQLITE).record.c.keys())}


def names(entries: list[dict[str, Any]], word: str) -> list[str]:
    return [entry[word] for entry in entries]


def test_there_is_something_of_each_kind_and_each_has_a_uuid_of_its_own() -> None:
    database = yaml.safe_load((FOLDER / DATABASE).read_text())
    assert database["database_name"] == "Serving store"
    assert {dashboard["dashboard_title"] for dashboard in DASHBOARDS.values()} == TITLES
    every = [database, *DATASETS.values(), *CHARTS.values(), *DASHBOARDS.values()]
    assert len({each["uuid"] for each in every}) == len(every) > 20
    assert {each["version"] for each in every} == {"1.0.0"}
    assert {dataset["database_uuid"] for dataset in DATASETS.values()} == {database["uuid"]}
    assert len({chart["slice_name"] for chart in CHARTS.values()}) == len(CHARTS)


def test_the_rows_that_charts_are_tried_with_have_the_shapes_of_what_is_served() -> None:
    """Else the slice ``databases`` would run the charts over tables that are no lake's."""
    known = {name: columns for name, columns in served().items() if name != RECORD}
    assert {name: {*rows[0]} for name, rows in make_rows(1).items()} == {name: {*known[name]} for name in known}


def test_no_file_has_a_secret() -> None:
    for name, text in read_export("postgresql://reader@db.example/dashboards").items():
        assert not re.search(r"passw|secret|token|\w+://[^/\s]*:[^/\s]*@", text, re.IGNORECASE), name
    assert "@mariadb:3306/serving" in (FOLDER / DATABASE).read_text()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", sorted(DATASETS))
def test_each_column_of_a_dataset_is_served(name: str, dialect: str) -> None:
    """By the SQL of the dataset where it has one, else by the name of the mart."""
    dataset = DATASETS[name]
    columns = names(dataset["columns"], "column_name")
    assert len(set(columns)) == len(columns)
    assert not PEOPLE & {*columns}
    if dataset["sql"] is None:
        assert {*columns} <= served()[dataset["table_name"]]
        return
    query = sqlglot.parse_one(dataset["sql"], read=dialect)
    assert isinstance(query, exp.Query)
    assert query.named_selects == columns
    for column in query.find_all(exp.Column):
        assert column.name in served()[column.table], column.sql()
    assert {table.name for table in query.find_all(exp.Table)} <= served().keys()
    assert [join.side for join in query.find_all(exp.Join)] == ["LEFT"] * len([*query.find_all(exp.Join)])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", sorted(DATASETS))
def test_each_metric_is_over_columns_of_its_dataset(name: str, dialect: str) -> None:
    dataset = DATASETS[name]
    columns = {*names(dataset["columns"], "column_name")}
    for metric in dataset["metrics"]:
        found = sqlglot.parse_one(metric["expression"], read=dialect)
        assert {column.name for column in found.find_all(exp.Column)} <= columns, metric["metric_name"]
        assert [*found.find_all(exp.AggFunc)]
        assert metric["metric_name"] not in columns, "a database would not know which of both is meant"


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_a_chart_shows_columns_and_metrics_of_its_dataset_and_its_stored_query_is_the_same(name: str) -> None:
    chart = CHARTS[name]
    dataset = BY_UUID[chart["dataset_uuid"]]
    assert chart["viz_type"] == chart["params"]["viz_type"]
    columns, metrics = chart_columns(chart), chart_metrics(chart)
    assert {*columns} <= {*names(dataset["columns"], "column_name")}
    assert {*metrics} <= {*names(dataset["metrics"], "metric_name")}
    assert columns or metrics
    (query,) = json.loads(chart["query_context"])["queries"]
    assert [each if isinstance(each, str) else each["sqlExpression"] for each in query["columns"]] == columns
    assert query.get("metrics", []) == metrics
    assert query["row_limit"] == chart["params"].get("row_limit", 10000)
    assert {by for by, _ in query.get("orderby", [])} <= {*columns, *metrics}


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_dashboard_has_each_of_its_charts_in_one_row(name: str) -> None:
    position = DASHBOARDS[name]["position"]
    parts = {key: part for key, part in position.items() if isinstance(part, dict)}
    assert {key: part["id"] for key, part in parts.items()} == {key: key for key in parts}
    by_uuid = {chart["uuid"]: chart["slice_name"] for chart in CHARTS.values()}
    placed = [part["meta"] for part in parts.values() if part["type"] == "CHART"]
    assert all(by_uuid[meta["uuid"]] == meta["sliceName"] for meta in placed)
    assert len({meta["uuid"] for meta in placed}) == len({meta["chartId"] for meta in placed}) == len(placed)
    children = [child for part in parts.values() for child in part.get("children", [])]
    assert sorted(children) == sorted(parts.keys() - {"ROOT_ID", "HEADER_ID"})
    for row in (part for part in parts.values() if part["type"] == "ROW"):
        assert sum(parts[child]["meta"]["width"] for child in row["children"]) == 12
    assert parts["HEADER_ID"]["meta"]["text"] == DASHBOARDS[name]["dashboard_title"]


def test_every_chart_is_on_a_dashboard_and_every_dataset_in_a_chart() -> None:
    positions = json.dumps([dashboard["position"] for dashboard in DASHBOARDS.values()])
    assert [chart["slice_name"] for chart in CHARTS.values() if chart["uuid"] not in positions] == []
    assert {chart["dataset_uuid"] for chart in CHARTS.values()} == BY_UUID.keys()


def test_the_zip_has_the_files_and_asks_for_the_password(tmp_path: Path) -> None:
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    for file in (one, two):
        assert run(["--address", "postgresql://reader@db.example:5432/dashboards", "--output", str(file)]) == 0
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert {*archive.namelist()} == {f"{ROOT}/{path.relative_to(FOLDER)}" for path in FOLDER.rglob("*.yaml")}
        database = yaml.safe_load(archive.read(f"{ROOT}/{DATABASE}"))
        other = archive.read(f"{ROOT}/metadata.yaml")
    assert database["sqlalchemy_uri"] == f"postgresql://reader:{PASSWORD_MASK}@db.example:5432/dashboards"
    assert database | {"sqlalchemy_uri": ""} == yaml.safe_load((FOLDER / DATABASE).read_text()) | {"sqlalchemy_uri": ""}
    assert other == (FOLDER / "metadata.yaml").read_bytes()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"postgresql://reader:{PASSWORD}@db.example/dashboards", "has a password"),
        ("dashboards", "is no URI"),
        ("mysql+pymysql://reader@db.example", "names no database"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_not_repeated(address: str, words: str) -> None:
    with pytest.raises(SetupError, match=words) as caught:
        with_masked_password(address)
    assert PASSWORD not in str(caught.value)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be written"):
        run(["--address", "sqlite:////a/b", "--output", str(tmp_path / "nowhere" / "x.zip")])
