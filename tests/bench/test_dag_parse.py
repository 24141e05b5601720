"""DAG files are parsed as Airflow does it: one may make no DAG, and one that cannot be parsed ends the part."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import dag_parse
from spark_jobs.contracts.errors import SettingsError

DAG = "from airflow.sdk import DAG\n\ndag = DAG('one')\n"


@pytest.fixture
def dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the DAG files, with one file in it."""
    folder = tmp_path / "project" / "dags"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(DAG)
    monkeypatch.setattr(dag_parse, "PROJECT_ROOT", folder.parent)
    return folder


def test_a_file_without_a_dag_is_parsed_and_named(dags: Path, tmp_path: Path) -> None:
    (dags / "none.py").write_text('"""Airflow looks for DAGs in it."""\n')
    found = dag_parse.measure_dag_parse(tmp_path)
    assert found.values.keys() == {"none.py", "one.py"}
    assert found.notes == ("pyspark was loaded by: none.", "No DAG is in: none.py.")


def test_a_file_that_cannot_be_parsed_ends_the_part(dags: Path, tmp_path: Path) -> None:
    (dags / "one.py").write_text("from airflow.sdk import DAG\nimport no_such_module\n")
    with pytest.raises(SettingsError, match=r"one\.py cannot be parsed"):
        dag_parse.measure_dag_parse(tmp_path)
