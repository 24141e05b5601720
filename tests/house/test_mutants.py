"""The patches of `make mutants`: each is complete and applies, and every promise has one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mutants.bugs import ARCHITECTURE, FOLDER, ROOT, Patch, PatchError, read_patches, read_promises
from tests.mutants.runs import Verdict, is_named, run_clean, share_nodes, try_patch
from tests.mutants.table import PAGE, fill_page
from tests.mutants.trees import check_patches, commit_tree, open_copy, write_working_tree
from tests.support.git import IDENTITY

LEAST = 80
"""How many bugs there are to plant, at least."""
DIFF = """diff --git a/spark_jobs/a.py b/spark_jobs/a.py
--- a/spark_jobs/a.py
+++ b/spark_jobs/a.py
@@ -1 +1 @@
-A = 1
+A = 2
"""
HEADER = "Promise: One\nBug: two for one\nCaught by: tests/test_a.py::test_one\n\n"
TESTS = """import pytest

def test_one(): ...

@pytest.mark.slice(name='long')
def test_long(): ...
"""


def write_tree(folder: Path, patch: str) -> None:
    """A tree with one promise, one module of tests and one patch."""
    files = {
        str(ARCHITECTURE): "## What is promised, and how\n\n| promise | how |\n|---|---|\n| One | so |\n",
        "tests/test_a.py": TESTS,
        f"{FOLDER}/area/name.patch": patch,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def patches() -> list[Patch]:
    """All of the project's, read once: each parses the tests that it names."""
    return read_patches()


def test_every_header_is_right_and_every_patch_applies(patches):
    assert patches
    check_patches(patches, write_working_tree())


def test_every_promise_has_a_patch(patches):
    assert set(read_promises()) - {patch.promise for patch in patches} == set()


def test_there_are_many_of_them(patches):
    assert len(patches) >= LEAST


def test_the_page_lists_them_all(patches):
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert fill_page(text, patches, read_promises()) == text


def test_a_header_is_read(tmp_path):
    continued = HEADER.replace("test_one\n", "test_one,\n  tests/test_a.py\n")
    write_tree(tmp_path, continued + DIFF)
    (patch,) = read_patches(tmp_path)
    assert (patch.title, patch.promise, patch.bug) == ("area/name", "One", "two for one")
    assert patch.tests == ("tests/test_a.py::test_one", "tests/test_a.py")


@pytest.mark.parametrize(
    ("patch", "mistake"),
    [
        (HEADER.replace("Promise: One\n", "") + DIFF, "the header has no Promise"),
        (HEADER.replace("Bug: two for one", "Bug:") + DIFF, "the header has no Bug"),
        (HEADER.replace("Caught by: tests/test_a.py::test_one", "Caught by: ,") + DIFF, "the header has no Caught by"),
        (HEADER.replace("Promise: One", "Promise: Two") + DIFF, "has no promise 'Two'"),
        (HEADER.replace("test_a.py", "test_b.py") + DIFF, "there is no test module tests/test_b.py"),
        (HEADER.replace("::test_one", "::test_two") + DIFF, "there is no test tests/test_a.py::test_two"),
        (HEADER.replace("::test_one", "::test_long") + DIFF, "is outside the short run"),
        (HEADER.replace("Bug:", "Bugs:") + DIFF, "none of Promise, Bug, Caught by"),
        (HEADER + "Bug: three\n" + DIFF, "or one twice: Bug: three"),
        (HEADER, "there is no diff"),
        (HEADER + DIFF.replace("spark_jobs/a.py", "tests/test_a.py"), "cannot be planted in tests/test_a.py"),
    ],
)
def test_a_mistake_is_shown_with_the_name_of_the_patch(tmp_path, patch, mistake):
    write_tree(tmp_path, patch)
    with pytest.raises(PatchError, match=r"^area/name: ") as raised:
        read_patches(tmp_path)
    assert mistake in str(raised.value)


def test_a_patch_that_does_not_apply_is_named(tmp_path):
    write_tree(tmp_path, HEADER + DIFF)
    with pytest.raises(PatchError, match=r"^area/name: the patch does not apply: error: spark_jobs/a\.py"):
        check_patches(read_patches(tmp_path), "HEAD")


@pytest.mark.parametrize(
    ("name", "node", "expected"),
    [
        ("tests/test_a.py::test_one", "tests/test_a.py::test_one", True),
        ("tests/test_a.py::test_one[1]", "tests/test_a.py::test_one", True),
        ("tests/test_a.py::test_one[1]", "tests/test_a.py", True),
        ("tests/test_a.py::test_one_more", "tests/test_a.py::test_one", False),
        ("tests/test_ab.py::test_one", "tests/test_a.py", False),
    ],
)
def test_a_node_id_names_a_test_with_all_its_parameters(name, node, expected):
    assert is_named(name, node) is expected


def test_named_tests_are_shared_between_copies_by_unit_of_work():
    nodes = {"tests/a.py::one", "tests/a.py::two", "tests/b.py", "tests/e2e/stack/c.py::x", "tests/e2e/stack/d.py::y"}
    shares = share_nodes(nodes, 2)
    assert sorted(node for share in shares for node in share) == sorted(nodes)
    assert sorted(map(len, shares)) == [2, 3]
    assert sum("tests/e2e/stack/c.py::x" in share and "tests/e2e/stack/d.py::y" in share for share in shares) == 1
    assert share_nodes({"tests/a.py::one", "tests/a.py::two"}, 2) == [["tests/a.py::one", "tests/a.py::two"]]


BUGS = {"seen": "A = 2", "not-seen": "A = 1.0", "broken": "A = "}
"""Lines in the place of ``A = 1``."""
SMALL_TESTS = "from spark_jobs.a import A\n\ndef test_one():\n    assert A == 1\n\ndef test_two():\n    assert A != 2\n"


def test_a_bug_is_caught_by_a_test_that_fails_and_by_nothing_else(tmp_path, monkeypatch):
    """In a repository of its own; a module that cannot be imported is an error of the patch."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, line in BUGS.items():
        write_tree(tmp_path, HEADER + DIFF.replace("A = 2", line))
        shutil.move(tmp_path / FOLDER / "area" / "name.patch", tmp_path / FOLDER / "area" / f"{name}.patch")
    files = {"spark_jobs/a.py": "A = 1\n", "tests/test_a.py": SMALL_TESTS, "pytest.ini": "[pytest]\npythonpath = .\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "tests" / "mutants" / "recorder.py", tmp_path / "tests" / "mutants" / "recorder.py")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for words in (["init", "-q"], ["add", "tests"], ["commit", "-qm", "tests"]):
        subprocess.run(["git", *IDENTITY, *words], cwd=tmp_path, check=True)
    patches = read_patches(tmp_path)
    tree = write_working_tree(tmp_path)
    check_patches(patches, tree, tmp_path)
    with open_copy(commit_tree(tree, tmp_path), tmp_path) as copy:
        clean = run_clean(patches, {copy: os.environ})
        assert {name: test.outcome for name, test in clean.tests.items()} == {"tests/test_a.py::test_one": "passed"}
        found = {patch.name: try_patch(patch, copy, clean).verdict for patch in patches}
        assert (copy / "spark_jobs" / "a.py").read_text(encoding="utf-8") == "A = 1\n"
    assert found == {"seen": Verdict.CAUGHT, "not-seen": Verdict.SURVIVED, "broken": Verdict.ERROR}
    (tmp_path / "spark_jobs" / "a.py").write_text("A = 3\n", encoding="utf-8")
    with (
        open_copy(commit_tree(write_working_tree(tmp_path), tmp_path), tmp_path) as copy,
        pytest.raises(PatchError, match="test_one does not pass without any bug"),
    ):
        run_clean(patches, {copy: os.environ})
