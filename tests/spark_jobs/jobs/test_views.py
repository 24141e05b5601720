"""The command line of the views: which there are, what is refused, and that no engine is started for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import end, make_lake_at


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new lake, and no jar for an engine."""
    for name, value in {**make_lake_at(tmp_path), "LAKEHOUSE_JARS_PATH": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


def test_views_of_a_lake_without_tables_name_what_they_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(["views", "list"]) == 0
    output = capsys.readouterr().out.splitlines()
    assert any("deals_of_the_day" in line and "needs " in line and "fast_daily_deals" in line for line in output)
    counters = json.loads(output[-1])["counters"]
    assert counters["views"] == 0
    assert counters["missing"] > 3


def test_nothing_is_applied_where_no_workgroup_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(["views", "apply", "--if-configured"]) == 0
    assert "LAKEHOUSE_ATHENA_WORKGROUP is not set" in capsys.readouterr().out


def test_views_are_applied_in_athena_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(["views", "apply", "--engine", "trino"]) == 2
    assert "give the statements of 'views ddl' to trino" in capsys.readouterr().err
