"""The targets people and CI call: they exist, they set the machine up first, and CI runs nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.run.levels import SLICES, choose_slice, read_tree

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "help",
    "setup",
    "demo",
    "cloud",
    "company",
    "live",
    "up",
    "down",
    "secrets",
    "dist",
    "test",
    "check",
    "test-all",
    "test-slice",
    "test-report",
    "bench",
    "faults",
    "soak",
    "mutants",
    "lock",
    "format",
    "clean",
}


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


def test_check_lints_types_and_tests_and_test_adds_the_rest():
    commands = printed_commands("check")
    for tool in (
        "ruff check",
        "ruff format --check",
        "mypy",
        "lint-imports",
        "sqlfluff lint",
        "check-jsonschema",
        "hadolint",
        "python -m tests.run check",
    ):
        assert tool in commands
    assert [line.partition("-m ")[2] for line in run_levels("test")] == ["tests.run check", "tests.run short"]


def test_test_all_is_make_test_and_every_slice():
    levels = [line.partition("-m ")[2] for line in run_levels("test-all")]
    assert levels == ["tests.run check", "tests.run short", "tests.run slice all"]


def run_levels(target: str) -> list[str]:
    """The lines with which a target runs tests."""
    return [line[line.rindex("python") :] for line in printed_commands(target).splitlines() if "tests.run" in line]


def test_markers_of_the_levels_are_registered(pytestconfig):
    registered = {line.split(":")[0] for line in pytestconfig.getini("markers")}
    assert {"spark", "hudi", "services", "e2e", "slice(name)"} <= registered


def test_ci_runs_make_test_and_one_slice():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text()
    assert re.findall(r"^make (.+?) \|\|", text, re.MULTILINE) == ["test", 'test-slice SLICE="$slice"']
    assert not re.search(r"\bdate\b", text), "the day plays no part"


@pytest.mark.parametrize(("name", "code"), list(zip(sorted(SLICES)[:2], (0, 3), strict=True)))
def test_ci_begins_and_ends_with_the_slice_and_the_command_that_repeats_it(name, code, tmp_path):
    """With a `make` that only writes down what it was called for: what CI prints and returns is its own."""
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "made $*"\nexit {code}\n')
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "LAKEHOUSE_TEST_SLICE": name}
    done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True)
    first, *between, last = done.stdout.splitlines()
    assert f"the slice '{name}'" in first
    assert f"LAKEHOUSE_TEST_SLICE={name} .ci/run" in first
    assert last == f"{'FAILED' if code else 'passed'}: {first}"
    assert [line for line in between if line.startswith("made")] == ["made test", f"made test-slice SLICE={name}"]
    assert done.returncode == code


def test_ci_takes_the_slice_of_the_tree(tmp_path):
    make = tmp_path / "make"
    make.write_text("#!/bin/sh\n")
    make.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "LAKEHOUSE_TEST_SLICE"}
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True, check=True)
    assert f"the slice '{choose_slice(read_tree())}'" in done.stdout.splitlines()[0]
