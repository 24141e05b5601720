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
from itertools import takewhile
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(PROJECT_ROOT)) for path in (PROJECT_ROOT / "docs").rglob("*.md")),
)
_PROGRAMS = r"lakehouse|docker|airflow|mkdir|rm|cp|cat|sed|touch|sleep|git|pip|apt-get|aws|kubectl"
_WORD = rf"(?:export|make|python3?|\.venv/bin/\w+|{_PROGRAMS})"
COMMAND = re.compile(rf"(?:[A-Z_]+=\S* +)*{_WORD}(?=\s|$)")
_HERE = re.compile(r"<<\s*(['\"]?)(\w+)\1")
"""The beginning of a here-document, whose lines are no commands."""
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
            if here := _HERE.search(open_):
                if line == here[2]:
                    found.append(open_)  # as it is: what is in it are the lines of a file
                    open_ = ""
                continue
            if open_.endswith("\\") or _is_open(open_):
                continue
            words = re.sub(r"\\\n\s*", " ", open_)
            open_ = ""
            if words.strip() and not words.lstrip().startswith("#"):
                found.append(_without_comment(words))
        return (*found, *([open_] if open_ else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a page shows that a group of commands prints: a fenced block of ``text`` after the group.

    ``is_yours``: its numbers are those of the reader's lake, and other ones in every lake.
    """

    group: Group
    text: str
    is_yours: bool


def outputs(page: str) -> tuple[Output, ...]:
    """What the page shows of what its commands print, in its order."""
    text = (PROJECT_ROOT / page).read_text(encoding="utf-8")
    found: list[Output] = []
    for block in re.finditer(r"^```text( yours)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start()) + 1
        of = max((group for group in groups(page) if group.line < line), key=lambda group: group.line)
        found.append(Output(group=of, text=block[2], is_yours=bool(block[1])))
    return tuple(found)


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


def lakehouse_words(command: str) -> list[str]:
    """The words after ``lakehouse`` in a command, up to what the shell does with its result; [] without it."""
    words = shlex.split(command) if "lakehouse " in command and not _HERE.search(command) else []
    found = next((at for at, word in enumerate(words) if word in ("lakehouse", ".venv/bin/lakehouse")), len(words))
    return list(takewhile(lambda word: word not in ("|", "||", "&&", ">"), words[found + 1 :]))


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
