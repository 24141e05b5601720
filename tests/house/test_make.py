"""The targets people and CI call: they exist, they set the machine up first, and CI runs nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.side_by_side import BESIDE, REST

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "help",
    "setup",
    "demo",
    "cloud",
    "live",
    "up",
    "down",
    "secrets",
    "test",
    "check",
    "services-full",
    "bench",
    "faults",
    "mutants",
    "lock",
    "format",
    "clean",
}
FAST = "not spark and not hudi and not services and not e2e"


def printed_commands(target: str) -> str:
    """What a target would run, with all it depends on."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", "--no-print-directory", target]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_make_alone_lists_every_target():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    listed = subprocess.run(["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make ([\w-]+) ", listed, re.MULTILINE)) == TARGETS


@pytest.mark.parametrize("target", sorted(TARGETS - {"help", "clean"}))
def test_every_target_sets_the_machine_up_first(target):
    assert re.match(r"\S*python\S* -m local_stack setup\b", printed_commands(target))


def test_the_tests_run_all_levels_between_them():
    commands = printed_commands("test")
    assert f'pytest -n 2 --dist loadfile -m "{FAST}"' in commands
    assert "python -m tests.side_by_side" in commands
    levels = [level for level in FAST.replace("not ", "").split(" and ") if level != "e2e"]
    assert list(BESIDE.values()) == ["e2e or faults", "services and not e2e and not faults"]
    levels.remove("services")
    assert f"not e2e and not faults and not services and ({' or '.join(levels)})" == REST
    for tool in (
        "ruff check",
        "ruff format --check",
        "mypy",
        "lint-imports",
        "sqlfluff lint",
        "check-jsonschema",
        "hadolint",
    ):
        assert tool in commands


def test_markers_of_the_levels_are_registered(pytestconfig):
    registered = {line.split(":")[0] for line in pytestconfig.getini("markers")}
    assert {"spark", "hudi", "services", "e2e"} <= registered


def test_ci_runs_make_test_and_nothing_else():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    made = re.findall(r"^(?!#).*\bmake (\S+)$", script.read_text(), re.MULTILINE)
    assert made == ["test"]
    assert script.read_text().rstrip().endswith("exec make test")
