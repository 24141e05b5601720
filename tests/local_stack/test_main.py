"""The command line: help at both levels, one clear line and an exit code for what goes wrong."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

import pytest

from local_stack.__main__ import COMMANDS, main
from local_stack.errors import DownloadError, SetupError


def fake_module(monkeypatch, outcome) -> list[list[str]]:
    """Put a module in every command's place that records its words and then returns or raises ``outcome``."""
    calls: list[list[str]] = []

    def run(words: list[str]) -> int:
        calls.append(words)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(run=run))
    return calls


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    servers, stacks = {"serve", "secrets", "bucket"}, {"demo", "company", "cloud", "live", "up", "down", "airflow"}
    assert set(COMMANDS) == {"setup", "java-home", "sbom", "dashboards", "dist"} | servers | stacks
    assert all(f"  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("command", ["setup", "java-home"])
def test_each_command_has_a_help_of_its_own(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"python -m local_stack {command}" in capsys.readouterr().out


def test_an_unknown_command_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["dance"])
    assert ended.value.code == 2
    assert "setup" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "given"),
    [(["demo", "--events", "5"], ["--events", "5"]), (["up"], ["up"]), (["down", "--help"], ["down", "--help"])],
)
def test_words_after_the_command_are_the_commands_own(monkeypatch, words, given):
    calls = fake_module(monkeypatch, 0)
    assert main(words) == 0
    assert calls == [given]


@pytest.mark.parametrize(
    ("error", "code"),
    [(SetupError("buy a disk"), 2), (DownloadError("try again"), 1), (KeyboardInterrupt(), 130)],
    ids=["terminal", "transient", "interrupted"],
)
def test_what_goes_wrong_is_one_line_and_a_code(monkeypatch, capsys, error, code):
    fake_module(monkeypatch, error)
    assert main(["setup"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1


def test_airflows_commands_need_a_running_airflow(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("LAKEHOUSE_RUN_PATH", str(tmp_path / "nowhere"))
    assert main(["airflow", "dags", "list"]) == 2
    assert capsys.readouterr().err == "error: no Airflow runs here; start it with make up\n"
    assert not (tmp_path / "nowhere").exists()


def test_another_python_is_refused_before_anything_is_done(monkeypatch, capsys):
    calls = fake_module(monkeypatch, 0)
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))
    assert main(["setup"]) == 2
    assert calls == []
    assert "Python 3.11 is needed" in capsys.readouterr().err
