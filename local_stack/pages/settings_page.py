"""The table of docs/settings.md from the fields of ``Settings`` and the text below each in its source."""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from inspect import getsource
from pathlib import Path
from textwrap import dedent

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.settings import PREFIX, Settings

PAGE = PROJECT_ROOT / "docs" / "settings.md"
_TABLE = re.compile(r"(?<=<!-- settings -->\n).*?(?=<!-- end -->)", re.DOTALL)
_PAGE_OF = re.compile(r"\(docs/([\w-]+\.md)\)")


def run(argv: list[str]) -> int:
    """Rewrite the table."""
    prog = "python -m local_stack.pages.settings_page"
    argparse.ArgumentParser(allow_abbrev=False, prog=prog, description=__doc__).parse_args(argv)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    say(f"settings-page: wrote {PAGE.relative_to(PROJECT_ROOT)}")
    return 0


def fill(text: str) -> str:
    """The page with today's table between its marks; SetupError when they are missing."""
    table = "\n".join(["| variable | default | what |", "|---|---|---|", *_rows(), ""])
    filled, count = _TABLE.subn(lambda _: table, text)
    if count != 1:
        raise SetupError(f"{PAGE} has {count} places for the table; mark one by <!-- settings --> and <!-- end -->")
    return filled


def _rows() -> Iterator[str]:
    texts = dict(_texts())
    for setting in fields(Settings):
        if not (text := texts.get(setting.name)):
            raise SetupError(f"Settings.{setting.name} has no text; write below the field what it is")
        default = f"`{_shown(setting.default)}`" if setting.default != "" else ""
        yield f"| `{PREFIX}{setting.name.upper()}` | {default} | {_PAGE_OF.sub(_link, text)} |"


def _texts() -> Iterator[tuple[str, str]]:
    """Each field of Settings that has a text below it, with this text on one line."""
    (settings,) = ast.parse(dedent(getsource(Settings))).body
    assert isinstance(settings, ast.ClassDef)
    for field, below in zip(settings.body, settings.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.replace("``", "`").split())


def _shown(default: object) -> str:
    """The default as people write it: paths below the project's folder from there."""
    path = Path(str(default))
    return str(path.relative_to(PROJECT_ROOT) if path.is_relative_to(PROJECT_ROOT) else default)


def _link(page: re.Match[str]) -> str:
    return f"([{page[1]}]({page[1]}))"


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
