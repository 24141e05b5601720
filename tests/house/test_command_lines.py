"""A long option is written out: `--ye` is no `--yes`, in any command line of this project."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARSERS = {"ArgumentParser", "add_parser", "_Parser"}


def abbreviating(source: str) -> Iterator[int]:
    """Lines of calls that make a parser which takes the beginning of an option for all of it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node.func) in PARSERS:
            given = {each.arg: each.value for each in node.keywords}
            value = given.get("allow_abbrev")
            if not (isinstance(value, ast.Constant) and value.value is False):
                yield node.lineno


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_no_command_line_takes_abbreviations() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in listed.splitlines()}
    made = {name for name, source in sources.items() if "ArgumentParser(" in source}
    assert len(made) > 15
    assert {name: lines for name, source in sources.items() if (lines := [*abbreviating(source)])} == {}


def test_such_a_parser_is_found() -> None:
    source = "argparse.ArgumentParser()\njobs.add_parser('a', allow_abbrev=True)\n_Parser(allow_abbrev=False)\n"
    assert [*abbreviating(source)] == [1, 2]
