"""The command line itself: help, mistakes, near misses; in this process, and once as the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.command import app, execution
from spark_jobs.command.app import run
from spark_jobs.command.grammar import VERBS
from spark_jobs.command.parameters import fields_of
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.commands import make_lake_at

SHOWN = ("run ingest", "restore", "quarantine show", "lake erase")
BY_PATH = {verb.path: verb for verb in VERBS}


@pytest.mark.parametrize("path", SHOWN)
def test_a_command_has_help_with_its_own_options(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb = BY_PATH[path]
    monkeypatch.setenv("COLUMNS", "200")
    assert run([*verb.path.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    flags = {each.flag for each in fields_of(verb) if each.flag.startswith("--") and each.name != verb.argument}
    assert {flag for flag in flags if flag not in shown} == set()
    assert "--json" in shown
    assert f"lakehouse {verb.path}" in shown
    assert ("--customer" in shown) == (path == "lake erase")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("qurantine", "list"), "Did you mean 'quarantine'"),
        (("quality", "chek"), "Did you mean 'check'"),
        (("run", "ingest", "--max-event", "7"), "No such option: --max-event"),
        (("run", "ingest", "--max-events", "many"), "should be a valid integer"),
        (("restore",), "Missing argument 'SAVEPOINT'"),
        (("service", "run", "--service", "compac"), "'compac' is not one of"),
        (("lake", "init", "\u202ex\n"), "\\u202ex\\x0a"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert line in shown.err
    assert shown.err.startswith("error: ")


def test_options_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["restore", "x", "--ye"]) == 2
    assert "--ye" in capsys.readouterr().err


def test_values_come_to_the_job_as_its_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def keep(context):
        seen.append(context)
        return context.result("done")

    monkeypatch.setattr(execution, "run_job", keep)
    monkeypatch.setattr(app, "ask", lambda: None)
    assert run(["run", "serve", "--layer", "fast", "--layer", "slow", "--mart", "m"]) == 0
    assert run(["lake", "erase", "--customer", "7"]) == 0
    assert run(["rule", "diff", "v1", "v2", "--from", "2026-01"]) == 0
    assert run(["run", "mart", "fast", "--interval-start", "2026-01-01", "--interval-end", "2026-01-02"]) == 0
    assert run(["lake", "generate", "--no-wrapped"]) == 0
    serve, erase, rules, mart, generate = (each.options for each in seen)
    assert (serve.layer, serve.mart) == (("fast", "slow"), ("m",))
    assert (erase.people, erase.yes) == ({"customer": "7"}, False)
    assert (rules.action, rules.versions, rules.first_month, rules.rows) == ("diff", ("v1", "v2"), "2026-01", 50)
    assert mart.layer == "fast"
    assert seen[3].interval is not None
    assert generate.wrapped is False


def test_the_program_keeps_results_apart(tmp_path: Path) -> None:
    """What a process of its own prints as output, as Java would, goes to standard error."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LAKEHOUSE_")} | make_lake_at(tmp_path)
    code = (
        "import subprocess, sys\n"
        "from spark_jobs.command import execution, app\n"
        "def job(context):\n"
        "    subprocess.run(['echo', 'WARN from Java'], check=True)\n"
        "    print('a result')\n"
        "    return context.result('done')\n"
        "execution.run_job = job\n"
        "sys.argv = ['lakehouse', 'run', 'split']\n"
        "app.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "a result\n"), done.stderr
    assert "WARN from Java" in done.stderr
