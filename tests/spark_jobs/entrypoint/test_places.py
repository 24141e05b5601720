"""Where the lake is: each command refuses a place that is not this lake's, in one line and with nothing made there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.contracts.lake_names import NAME_FILE
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.commands import end

COMMANDS = (
    "ingest",
    "split",
    "mart --layer fast",
    "serve --layer fast",
    "services plan",
    "savepoint list",
    "restore --to day-20260101T000000",
    "erase --customer 7",
    "doctor check",
    "consumers list",
    "freshness",
    "views list",
    "plan --output plan.yaml",
    "quarantine list",
    "publish list",
    "query --sql x",
)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is there yet, nor a jar with which a session could be opened."""
    for name in ("base", "landing", "jars"):
        monkeypatch.setenv(f"LAKEHOUSE_{name.upper()}_PATH", str(tmp_path / name))
    return tmp_path


def refusal(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert end(command.split()) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    (line,) = errors.splitlines()
    return str(line)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_without_a_lake(places, capsys, command):
    assert refusal(command, capsys).startswith(f"error: there is no lake at {places}/base; correct LAKEHOUSE_BASE_PATH")
    assert list(places.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_path_of_another_lake(places, capsys, monkeypatch, command):
    with monkeypatch.context() as other:
        other.setenv("LAKEHOUSE_LAKE_SPEC", str(PROJECT_ROOT / "include" / "lakes" / "shop.yaml"))
        assert end(["init"]) == 0
        capsys.readouterr()
    line = refusal(command, capsys)
    assert line.startswith(f"error: the lake at {places}/base is 'shop', and the lake spec ")
    assert "is of 'sales'; correct LAKEHOUSE_BASE_PATH or LAKEHOUSE_LAKE_SPEC" in line
    assert [path.name for path in (places / "base").iterdir()] == [NAME_FILE]


@pytest.mark.parametrize("command", ["ingest", "freshness", "erase --customer 7"])
def test_a_landing_folder_that_is_missing(places, capsys, command):
    assert end(["init"]) == 0
    (places / "landing").rmdir()
    capsys.readouterr()
    assert refusal(command, capsys).startswith(f"error: there is no landing folder {places}/landing; correct")
    assert not (places / "landing").exists()


def test_init_makes_both_once(places, capsys):
    for status in ("done", "nothing_to_do"):
        assert end(["init"]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["status"] == status
    assert {path.name for path in places.rglob("*")} == {"base", NAME_FILE, "landing"}


@pytest.mark.parametrize("command", ["spec check", "checks list", "rules list"])
def test_what_is_read_from_files_of_the_spec_alone_needs_no_lake(places, command):
    assert end(command.split()) == 0
    assert list(places.iterdir()) == []
