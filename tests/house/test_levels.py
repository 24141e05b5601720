"""Every test is in `make check`, in `make test` or in exactly one slice, and CI's slice follows from the tree alone."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.run import levels, spreading
from tests.run.levels import CHECK, SHORT, SLICES, choose_slice, slice_expression, slice_runs
from tests.run.spreading import TOGETHER, find_unit
from tests.support.git import IDENTITY

ROOT = Path(__file__).resolve().parents[2]
ENGINE_MARKS = ("spark", "hudi", "services", "e2e")
compiled = cache(Expression.compile)


class Marked:
    """A test with marks, as far as spreading and pytest's own expressions look at it."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid = nodeid
        self.marks = list(marks)
        self.path = ROOT / nodeid.partition("::")[0]

    def iter_markers(self, name: str = "") -> list[pytest.Mark]:
        return [mark for mark in self.marks if not name or mark.name == name]

    def is_selected_by(self, expression: str) -> bool:
        """As pytest selects: by name, and by keyword arguments when the expression gives any."""

        def matches(name: str, /, **wanted: str | int | bool | None) -> bool:
            found = self.iter_markers(name)
            return any(all(mark.kwargs.get(key) == value for key, value in wanted.items()) for mark in found)

        return compiled(expression).evaluate(matches)


def in_slice(name: str) -> pytest.Mark:
    return pytest.mark.slice(name=name).mark


def engine(name: str) -> pytest.Mark:
    return getattr(pytest.mark, name).mark


@pytest.mark.parametrize("engines", [(), *((name,) for name in ENGINE_MARKS), ("hudi", "services"), ENGINE_MARKS])
@pytest.mark.parametrize("chosen", [None, *sorted(SLICES)])
def test_each_test_is_selected_once(engines, chosen):
    test = Marked("t", *map(engine, engines), *([in_slice(chosen)] if chosen else []))
    expressions = {"check": CHECK, "short": SHORT, **{name: slice_expression(name) for name in SLICES}}
    selected = [name for name, expression in expressions.items() if test.is_selected_by(expression)]
    assert selected == [chosen or ("short" if engines else "check")]
    in_all = [name for name, expression in slice_runs("all").items() if test.is_selected_by(expression)]
    assert len(in_all) == (1 if chosen else 0)


def test_every_slice_has_tests_and_every_test_a_known_slice():
    used = {
        name
        for file in (ROOT / "tests").rglob("*.py")  # marks of servers are with these, in tests/support
        for name in re.findall(r"""mark\.slice\(name="([^"]+)"\)""", file.read_text(encoding="utf-8"))
    }
    assert used == set(SLICES)


@pytest.mark.parametrize(
    "marks", [(in_slice("nowhere"),), (pytest.mark.slice.mark,), tuple(map(in_slice, sorted(SLICES)[:2]))]
)
def test_an_unknown_or_a_second_slice_is_refused(marks):
    with pytest.raises(pytest.UsageError, match="test_y is in the slices"):
        spreading.check_slices([Marked("tests/x.py::test_y", *marks)])


@pytest.mark.parametrize("line", ["@pytest.mark.hudi", "pytestmark = [mark.e2e]", 'mark.slice("jobs")', "mark.spark"])
def test_other_runs_than_check_import_what_has_a_mark_of_theirs(tmp_path, monkeypatch, line: str):
    """In its own text, or in that of a conftest.py of its folders."""
    monkeypatch.setattr(spreading, "ROOT", tmp_path)
    texts = {
        "plain/test_a.py": "import pytest.mark.parametrize",
        "plain/marked/test_b.py": f"import pytest\n{line}",
        "shared/conftest.py": f"params=[{line}]",
        "shared/deeper/test_c.py": "def test_c(shared): pass",
        "other/conftest.py": "mark.sparkling, mark.hudis",
        "other/test_d.py": "spark, hudi, services",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    modules = [tmp_path / name for name in texts if "test_" in name]
    assert [spreading.is_in_check_alone(module) for module in modules] == [True, False, False, True]


@pytest.mark.parametrize("mark", [*map(engine, ENGINE_MARKS), in_slice("jobs")])
def test_a_mark_that_other_runs_would_not_find_is_refused(tmp_path, mark: pytest.Mark):
    module = tmp_path / "test_x.py"
    module.write_text("def test_y(served): pass", encoding="utf-8")
    test = Marked("tests/test_x.py::test_y[from a fixture]", mark)
    test.path = module
    with pytest.raises(pytest.UsageError, match=r"test_y.* gets a mark from elsewhere"):
        spreading.check_marks([test])
    test.marks.clear()
    spreading.check_marks([test])


def test_what_takes_longest_begins_and_modules_stay_whole():
    tests = [
        Marked("tests/a.py::one"),
        Marked("tests/b.py::one", engine("spark")),
        Marked("tests/a.py::two", engine("hudi")),
        Marked("tests/e2e/stack/x.py::one", engine("services")),
        Marked("tests/c.py::one", engine("services")),
        Marked("tests/e2e/stack/y.py::one", engine("e2e")),
        Marked("tests/d.py::one", engine("hudi"), engine("faults")),
    ]
    spreading.sort_by_level(tests)
    assert [test.nodeid for test in tests] == [
        "tests/d.py::one",
        "tests/e2e/stack/x.py::one",
        "tests/e2e/stack/y.py::one",
        "tests/c.py::one",
        "tests/a.py::one",
        "tests/a.py::two",
        "tests/b.py::one",
    ]


def test_a_module_is_a_unit_and_so_is_what_shares_a_stack():
    assert find_unit("tests/a.py::one[x::y]") == "tests/a.py"
    assert find_unit("tests/e2e/stack/x.py::one") == find_unit("tests/e2e/stack/y.py::two") == "tests/e2e/stack/"
    assert find_unit("tests/e2e/y.py::two") == "tests/e2e/y.py"
    assert all((ROOT / folder).is_dir() for folder in TOGETHER)


def test_the_slice_follows_from_the_tree_and_each_can_be_chosen():
    chosen = [choose_slice(f"{number:040x}") for number in range(len(SLICES))]
    assert sorted(chosen) == sorted(SLICES)
    assert choose_slice(f"{len(SLICES):040x}") == chosen[0]
    source = Path(levels.__file__).read_text(encoding="utf-8")
    assert not re.search(r"import (?:datetime|time|random)", source)


def test_the_same_tree_gives_the_same_slice_whatever_the_commit(tmp_path):
    def git(*words: str) -> None:
        subprocess.run(["git", *IDENTITY, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    (tmp_path / "file").write_text("x")
    git("add", "file")
    git("commit", "-m", "one")
    first = levels.read_tree(tmp_path)
    git("commit", "--amend", "-m", "another message")
    assert levels.read_tree(tmp_path) == first
    (tmp_path / "file").write_text("y")
    git("commit", "-a", "-m", "two")
    assert levels.read_tree(tmp_path) != first
