"""An installed provider makes its DAGs by one file of three lines: the same DAGs as the files of a checkout."""

from __future__ import annotations

from typing import Any

from tests.dags.conftest import one_file


def without_file(dags: dict[str, Any]) -> dict[str, Any]:
    return {name: {key: fact for key, fact in facts.items() if key != "file"} for name, facts in dags.items()}


def test_one_file_makes_the_dags_of_all(each_parsed: list[dict[str, Any]]) -> None:
    of_files, of_one = each_parsed[0], each_parsed[3]
    assert of_one["errors"] == {}
    assert {facts["file"] for facts in of_one["dags"].values()} == {"lakehouse.py"}
    assert len(of_one["dags"]) > 10
    assert without_file(of_one["dags"]) == without_file(of_files["dags"])


def test_of_several_lakes_a_broken_one_takes_no_other_down(each_parsed: list[dict[str, Any]]) -> None:
    of_files, of_one = each_parsed[2], each_parsed[4]
    assert of_one["errors"] == {}, "the file lake_specs would raise the broken lake's mistakes"
    assert without_file(of_one["dags"]) == without_file(of_files["dags"])
    assert "lakes" in of_one["dags"], "the DAG that reports the broken lake"


def test_the_file_has_three_lines() -> None:
    assert len([line for line in one_file().splitlines() if line]) == 3
