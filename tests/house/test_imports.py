"""Imports: what import-linter and ruff cannot say. The table itself is in pyproject.toml, `lint-imports` holds it."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAG_IDS = {
    *("ingest_sales", "split_sales", "fast_layer", "stitch_layer", "slow_layer"),
    *("recompute", "apply_changes", "undo_changes", "table_services", "savepoints", "restore", "erase", "catalog_sync"),
    *("data_quality", "freshness", "snapshot"),
}
LIBRARY_MAY = {"pyspark", "spark_jobs"}
COMMAND = ROOT / "spark_jobs" / "command"
"""What people type: it stays on this machine, as the zip leaves it out."""
COMMAND_MAY = LIBRARY_MAY | {"rich", "typer"}
DAGS_MAY = {"airflow.sdk", "lakehouse_provider", "pendulum", "spark_jobs.contracts", "spark_jobs.job_options"}


def python_files(folder: str) -> list[Path]:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"no Python file in {folder}/"
    return files


@cache
def library_nodes() -> tuple[tuple[str, ast.AST], ...]:
    """Every node of the library's sources, with its place."""
    return tuple(
        (str(path.relative_to(ROOT)), node)
        for path in python_files("spark_jobs")
        for node in ast.walk(ast.parse(path.read_text()))
    )


def imported_modules(source: str, *, is_deep: bool) -> Iterator[str]:
    """Modules a source imports: when it is loaded, or anywhere in it when ``is_deep``."""
    tree = ast.parse(source)
    for node in ast.walk(tree) if is_deep else statements_at_load(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def statements_at_load(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is loaded, but for those only a type checker reads."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from statements_at_load(getattr(node, field, []))


def is_among(module: str, allowed: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allowed | sys.stdlib_module_names)


def test_the_library_needs_only_pyspark_to_be_imported():
    """Shipped to a cluster as one zip, it finds the standard library and pyspark there and nothing else."""
    wrong = {
        str(path.relative_to(ROOT)): module
        for path in python_files("spark_jobs")
        for module in imported_modules(path.read_text(), is_deep=False)
        if not is_among(module, COMMAND_MAY if COMMAND in path.parents else LIBRARY_MAY)
    }
    assert wrong == {}


def test_dags_import_the_task_sdk_the_provider_and_contracts():
    wrong = {
        path.name: module
        for path in python_files("dags")
        for module in imported_modules(path.read_text(), is_deep=True)
        if not is_among(module, DAGS_MAY)
    }
    assert wrong == {}


def test_each_dag_file_declares_the_one_dag_it_is_named_after_for_each_lake():
    """A function of the lake, named like the file, with one DAG in it; and a loop that calls it for each lake."""
    declared = {}
    for path in python_files("dags"):
        body = ast.parse(path.read_text()).body
        of_lakes = [node for node in body if isinstance(node, ast.FunctionDef)]
        inside = [node for of_lake in of_lakes for node in of_lake.body if isinstance(node, ast.FunctionDef)]
        dags = [node for node in inside if any("dag(" in ast.unparse(each) for each in node.decorator_list)]
        loops = [ast.unparse(node) for node in body if isinstance(node, ast.For) and "each_lake(" in ast.unparse(node)]
        calls = [name.name for name in of_lakes if any(f"{name.name}(each)" in loop for loop in loops)]
        declared[path.stem] = (calls, len(dags), len(loops))
    of_no_lake: dict[str, tuple[list[str], int, int]] = dict.fromkeys(("lake_specs", "lakes"), ([], 0, 0))
    assert declared == {**{dag_id: ([dag_id], 1, 1) for dag_id in DAG_IDS}, **of_no_lake}


OPEN = {"contracts", "connectors", "lake_spec", "sql_analysis", "spec_files", "job_options"}
"""Parts of the library that DAGs and the provider may import: pure Python."""


def test_every_part_of_the_library_is_closed_to_airflow_but_contracts_and_lake_specs():
    """A new package under spark_jobs must be added to the contract, or DAGs could import it."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["id"]: contract for contract in linter["contracts"]}
    closed = set(contracts["airflow-knows-contracts-only"]["forbidden_modules"])
    parts = {path.name.removesuffix(".py") for path in (ROOT / "spark_jobs").iterdir() if path.name != "__pycache__"}
    assert {"jobs", "storage", *OPEN} <= parts
    assert closed == {f"spark_jobs.{part}" for part in parts - {"__init__", *OPEN}} | {"pyspark"}


def test_python_runs_on_the_executors_through_one_module():
    """Other calls would read the directories of Spark's archives before each task; `frames` has rows of the driver."""
    calls = {"mapInArrow", "mapInPandas", "applyInArrow", "applyInPandas", "udf", "pandas_udf", "mapPartitions"}
    calls |= {"createDataFrame", "parallelize"}
    found = {
        path
        for path, node in library_nodes()
        if isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) in calls
    }
    assert found == {"spark_jobs/python_tasks.py"}


def test_no_method_of_a_session_class_is_named_by_its_class():
    """Spark Connect has classes of its own: ``DataFrame.unionByName`` of ``pyspark.sql`` fails on its data frames."""
    classes = {"DataFrame", "Column", "SparkSession", "GroupedData"}
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path, node in library_nodes()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in classes
        if node.attr != "builder"
    ]
    assert found == []


def test_every_save_mode_is_one_that_spark_connect_knows():
    """It has no name for Spark's ``errorifexists`` but ``error``."""
    found = {
        f"{path}:{node.lineno}": node.args[0].value
        for path, node in library_nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mode"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    known = {"append", "overwrite", "error", "ignore"}
    assert found
    assert {place: mode for place, mode in found.items() if mode not in known} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import boto3", {"boto3"}),
        ("try:\n    from airflow import DAG\nfinally:\n    import os", {"airflow", "os"}),
        ("def f():\n    import pandas", set()),
        ("if TYPE_CHECKING:\n    import pandas\nif True:\n    import numpy.linalg", {"numpy.linalg"}),
    ],
)
def test_imports_at_load_are_found(source, found):
    assert set(imported_modules(source, is_deep=False)) == found
