"""Planted bugs: each a patch with a header that names the promise it breaks and the tests that must notice.

The header is the text before the diff: `Promise`, `Bug` and `Caught by`, each once; a line that begins with a blank
continues the one before it. `Caught by` has node ids of tests, or paths of test modules, with commas between them.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.recorder import SLICE
from tests.support.doc_tables import read_tables

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("tests/mutants/patches")
"""The patches, relative to a tree's root: one folder an area."""
ARCHITECTURE = Path("docs/architecture.md")
PROMISES = "What is promised, and how"
"""The heading of the table of promises in `ARCHITECTURE`."""
KEYS = ("Promise", "Bug", "Caught by")
PRODUCT = ("dags/", "include/", "local_stack/", "plugins/", "spark_jobs/")
"""Where a bug may be planted."""


class PatchError(Exception):
    """Patches that cannot be used, one line each."""


@dataclass(frozen=True)
class Patch:
    """A bug that can be planted."""

    area: str
    name: str
    promise: str
    bug: str
    tests: tuple[str, ...]
    path: Path

    @property
    def title(self) -> str:
        return f"{self.area}/{self.name}"


def read_promises(root: Path = ROOT) -> list[str]:
    """First cells of the table of promises, in its order."""
    return [str(row["promise"]) for row in read_tables(root / ARCHITECTURE)[PROMISES]]


def read_patches(root: Path = ROOT) -> list[Patch]:
    """Every patch of the tree, by area and name.

    Raises:
        PatchError: One of them has a header that is incomplete or names what is not there.
    """
    promises = read_promises(root)
    patches: list[Patch] = []
    mistakes: list[str] = []
    for path in sorted((root / FOLDER).glob("*/*.patch")):
        text = path.read_text(encoding="utf-8")
        header, found = read_header(text)
        title = f"{path.parent.name}/{path.stem}"
        tests = tuple(test.strip() for test in header.get("Caught by", "").split(",") if test.strip())
        found += find_mistakes(root, header, tests, promises, text)
        mistakes += [f"{title}: {mistake}" for mistake in found]
        promise, bug = header.get("Promise", ""), header.get("Bug", "")
        patches.append(Patch(path.parent.name, path.stem, promise, bug, tests, path))
    if mistakes:
        raise PatchError("\n".join(mistakes))
    return patches


def read_header(text: str) -> tuple[dict[str, str], list[str]]:
    """Values by key, and what is wrong with the lines before the diff."""
    header: dict[str, str] = {}
    mistakes: list[str] = []
    last = ""
    for line in text.partition("diff --git ")[0].splitlines():
        key, colon, value = line.partition(":")
        if line.startswith((" ", "\t")) and last:
            header[last] += f" {line.strip()}"
        elif colon and key in KEYS and key not in header:
            header[key] = value.strip()
            last = key
        elif line.strip():
            mistakes.append(f"the header has a line that is none of {', '.join(KEYS)}, or one twice: {line}")
    return header, mistakes


def find_mistakes(
    root: Path, header: dict[str, str], tests: tuple[str, ...], promises: list[str], text: str
) -> list[str]:
    """What is wrong with one patch, but for whether its diff applies."""
    given = {**header, "Caught by": " ".join(tests)}
    mistakes = [f"the header has no {key}" for key in KEYS if not given.get(key)]
    if header.get("Promise") and header["Promise"] not in promises:
        mistakes.append(f"{ARCHITECTURE} has no promise {header['Promise']!r} in the table under {PROMISES!r}")
    files = re.findall(r"^diff --git a/(\S+) b/", text, re.MULTILINE)
    mistakes += [] if files else ["there is no diff"]
    mistakes += [f"a bug cannot be planted in {file}" for file in files if not file.startswith(PRODUCT)]
    return mistakes + [mistake for test in tests if (mistake := find_test_mistake(root, test))]


def find_test_mistake(root: Path, node: str) -> str | None:
    """Why a node id can be none of a test in the short run, as far as the source says it."""
    module, _, rest = node.partition("::")
    if not re.fullmatch(r"tests/[\w/]*test_\w+\.py", module) or not (root / module).is_file():
        return f"there is no test module {module}"
    body = ast.parse((root / module).read_text(encoding="utf-8")).body
    for name in rest.partition("[")[0].split("::") if rest else ():
        named = [each for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name]
        if not named:
            return f"there is no test {node}"
        if any(ast.unparse(each).startswith(f"pytest.mark.{SLICE}") for each in named[0].decorator_list):
            return f"{node} is outside the short run"
        body = named[0].body
    return None
