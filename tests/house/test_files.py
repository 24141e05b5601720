"""What every file of the tree must keep; each rule is also shown to find what it forbids."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("spark_jobs", "local_stack", "plugins", "dags", "tests", "bench")
MOST_LINES = 300
MOST_LINES_OF_A_DAG = 120
VAGUE_NAMES = {"base", "common", "helpers", "manager", "misc", "util", "utils"}

SECRET = re.compile(
    r"AKIA[0-9A-Z]{16}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:ghp|gho|xox[abp])[_-]\w{20,}"
    r"|(?i:\b\w*(?:password|passwd|secret|api_?key|token)\w*[\"']?\s*[=:]\s*[\"'][^\"'${}<>\s]{12,}[\"'])"
    r"|://[^/\s:@{}$]+:[^/\s:@{}$]{6,}@"
)
REGISTRY = re.compile(
    r"\b(?:repo1?|repos|repository|files|registry|proxy|deb|central|index|static|download|pkg|conda)"
    r"\.[a-z-]+(?:\.[a-z-]+)*\.(?:org|com|io|dev|net)\b"
    r"|\b(?:pypi|crates|npmjs|pythonhosted|anaconda|search\.maven|packages\.confluent)\.(?:org|io|com)\b"
)
EXEMPTION = re.compile(
    r"#\s*noqa|#\s*type:\s*ignore|#\s*pragma|\b(?:TO[D]O|FIX[M]E|XX[X])\b"
    r"|pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b"
)
MACHINE = re.compile(r"(?<![\w.~-])/(?:work|root)/")


def tracked_files() -> list[Path]:
    """Every file that git keeps or would keep, so that no environment or cache is looked into."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [ROOT / name for name in listed if (ROOT / name).is_file()]
    assert len(files) > 50, "the tree has more files than that; is this a git clone?"
    return files


def texts(files: list[Path]) -> dict[str, str]:
    """Content by path; what is not text is left out."""
    found = {}
    for path in files:
        content = path.read_bytes()
        if b"\0" not in content[:8000] and not path.name.endswith((".gz", ".png")):
            found[str(path.relative_to(ROOT))] = content.decode("utf-8", errors="replace")
    return found


FILES = tracked_files()
TEXTS = texts(FILES)
PYTHON = {name: text for name, text in TEXTS.items() if name.endswith(".py")}


def lines_with(pattern: re.Pattern[str], among: dict[str, str]) -> list[str]:
    return [
        f"{name}:{number}: {found.group()}"
        for name, text in among.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := pattern.search(line))
    ]


def test_there_is_code_in_every_folder_that_is_looked_at():
    assert TEXTS
    empty = [folder for folder in CODE_FOLDERS if not any(name.startswith(f"{folder}/") for name in PYTHON)]
    assert empty == []


def test_git_keeps_no_symbolic_link_and_no_other_repository():
    """A link to a folder of one machine leads nowhere on all others, and `make setup` cannot fill what it names."""
    command = ["git", "ls-files", "--stage"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(listed) > 50
    assert [line for line in listed if not line.startswith("100")] == []


def test_no_python_file_is_long():
    lengths = {name: len(text.splitlines()) for name, text in PYTHON.items()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_dag_files_are_tables_of_contents():
    lengths = {name: len(text.splitlines()) for name, text in PYTHON.items() if name.startswith("dags/")}
    assert lengths
    assert {name: length for name, length in lengths.items() if length > MOST_LINES_OF_A_DAG} == {}


def test_every_python_file_begins_with_a_docstring_and_the_future():
    wrong = []
    for name, text in PYTHON.items():
        body = ast.parse(text).body
        has_docstring = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        rest = body[1:] if has_docstring else body
        if not has_docstring or (rest and not (isinstance(rest[0], ast.ImportFrom) and rest[0].module == "__future__")):
            wrong.append(name)
    assert wrong == []


def test_no_secret_looking_string():
    assert lines_with(SECRET, TEXTS) == []


def test_no_registry_is_named():
    assert lines_with(REGISTRY, TEXTS) == []


def test_no_exemption_from_a_rule_and_nothing_left_to_do():
    assert lines_with(EXEMPTION, PYTHON) == []


def test_no_path_of_one_machine():
    assert lines_with(MACHINE, TEXTS) == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (SECRET, "AKIA" + "ABCDEFGHIJKLMNOP"),
        (SECRET, "password" + ' = "correct-horse-battery"'),
        (SECRET, "postgresql://airflow" + ":hunter22@metadata/airflow"),
        (REGISTRY, "https://repo1." + "maven.org/maven2"),
        (REGISTRY, "https://files.python" + "hosted.org/packages"),
        (EXEMPTION, "x = 1  #" + " noqa: E501"),
        (EXEMPTION, "@pytest.mark" + ".skip"),
        (MACHINE, "cd /" + "work/place"),
    ],
)
def test_each_pattern_finds_what_it_forbids(pattern, line):
    assert lines_with(pattern, {"sample": f"fine\n{line}\n"}) == [f"sample:2: {pattern.search(line).group()}"]


@pytest.mark.parametrize("line", ["${POSTGRES_PASSWORD:?see above}@metadata", "token: str = field()", "/opt/work/lake"])
def test_the_patterns_let_ordinary_lines_pass(line):
    assert not any(pattern.search(line) for pattern in (SECRET, REGISTRY, EXEMPTION, MACHINE))


def test_module_names_say_something_and_hide_nothing():
    names = [name for name in PYTHON if name.startswith(("spark_jobs/", "plugins/", "local_stack/", "dags/"))]
    assert names
    assert [name for name in names if Path(name).stem in VAGUE_NAMES or Path(name).parent.name in VAGUE_NAMES] == []
    tops = {Path(name).parts[1].removesuffix(".py") for name in names if name.startswith("spark_jobs/")}
    assert tops & sys.stdlib_module_names == set()


def test_tests_are_no_packages():
    assert [name for name in PYTHON if name.startswith("tests/") and name.endswith("__init__.py")] == []
