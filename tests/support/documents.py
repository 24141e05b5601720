"""README and docs as a reader follows them: the shell commands of each page, by chapter, in their order.

A group is the lines of a code block up to an empty one. It is for a shell when its first line begins with a command;
every line of it is then a command, a comment, or the rest of the line before.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(PROJECT_ROOT)) for path in (PROJECT_ROOT / "docs").rglob("*.md")),
)
_WORD = r"(?:export|make|python3?|\.venv/bin/\w+|docker|airflow|mkdir|rm|cp|cat|git|pip|apt-get|aws|kubectl)"
COMMAND = re.compile(rf"(?:[A-Z_]+=\S* +)*{_WORD}(?=\s|$)")
ENTRYPOINT = re.compile(r"(?:python|\.venv/bin/python) -m spark_jobs\.entrypoint (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Lines of a page that a reader gives to a shell at once."""

    page: str
    chapter: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """Where a person finds it."""
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> tuple[str, ...]:
        """One for each command, without comments and without the ends of lines in it."""
        found: list[str] = []
        open_ = ""
        for line in self.text.splitlines():
            open_ = f"{open_}\n{line}" if open_ else line
            if open_.endswith("\\") or _is_open(open_):
                continue
            words = re.sub(r"\\\n\s*", " ", open_)
            open_ = ""
            if words.strip() and not words.lstrip().startswith("#"):
                found.append(_without_comment(words))
        return (*found, *([open_] if open_ else []))


@cache
def groups(page: str) -> tuple[Group, ...]:
    """The groups of a page that are for a shell, in their order."""
    return tuple(group for group in _blocks(page) if COMMAND.match(group.text))


def inline(page: str) -> Iterator[str]:
    """Whole commands of the entry point within the sentences of a page."""
    text = (PROJECT_ROOT / page).read_text(encoding="utf-8")
    for code in re.findall(r"`([^`\n]+)`", text):
        if ENTRYPOINT.fullmatch(code):
            yield code


def words_of(command: str) -> list[str]:
    """The words of the entry point's command line in a command, [] when it is of another program."""
    found = ENTRYPOINT.search(command)
    return shlex.split(found.group(1)) if found else []


def _blocks(page: str) -> Iterator[Group]:
    """Groups of lines in code blocks, indented or fenced; not of fenced ones in another language."""
    chapter, fence, lines, start, is_block = "", "", list[str](), 0, False
    before = ""
    for number, line in enumerate([*(PROJECT_ROOT / page).read_text(encoding="utf-8").splitlines(), ""], 1):
        if line.startswith("```"):
            fence = "" if fence else line.removeprefix("```").strip() or "sh"
        elif not fence and line.startswith("#"):
            chapter = line.lstrip("# ")
        elif (fence in ("sh", "bash", "shell")) or (not fence and line.startswith("    ") and (is_block or not before)):
            is_block = True
            start = start if lines else number
            lines.append(line if fence else line.removeprefix("    "))
            continue
        if lines:
            yield Group(page=page, chapter=chapter, line=start, text="\n".join(lines))
            lines = []
        is_block = is_block and not line.strip()
        before = line.strip()


def _is_open(text: str) -> bool:
    """True for a line whose quotation goes on in the next one."""
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _without_comment(words: str) -> str:
    """A command without what follows a # outside of quotation marks."""
    for found in re.finditer(r"\s+#", words):
        if not _is_open(words[: found.start()]):
            return words[: found.start()]
    return words.rstrip()


def tracked(root: Path = PROJECT_ROOT) -> list[str]:
    """The files that a reader has after `git clone`."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]
