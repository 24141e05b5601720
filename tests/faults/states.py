"""The state that a folder is in, without what differs from run to run: what a later run finds there.

Two folders in the same state have the same files, with instants that follow each other in the same way, of about the
same sizes; small files in JSON say the same, and databases too. What the rows are is for readers to see.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

State = tuple[str, ...]
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_TASK = re.compile(r"(?<=_)\d+-\d+-\d+")
_INSTANT = re.compile(r"\d{17}")
_FIGURES = re.compile(r'"(?:<id>|[a-zA-Z]*(?:Time|Size|Bytes)[a-zA-Z]*)": \d+')
_ABOUT = 64
"""Files of the same rows differ by a few bytes, because ids and instants are packed differently well."""
_LEASES = ".leases"


def state_of(folder: Path) -> State:
    """The state of a folder; leases do not count, whose holders write other names."""
    files = sorted(path for path in folder.rglob("*") if _LEASES not in path.relative_to(folder).parts)
    names = [str(path.relative_to(folder)) for path in files]
    instants = sorted({instant for name in names for instant in _INSTANT.findall(name)})
    known = {instant: f"<{number}>" for number, instant in enumerate(instants)}
    found = [f"{_plain(name, known)} {_content(path, known)}" for name, path in zip(names, files, strict=True)]
    return tuple(sorted(found))


def _plain(text: str, instants: Mapping[str, str]) -> str:
    return _INSTANT.sub(lambda match: instants.get(match[0], "<instant>"), _TASK.sub("<task>", _ID.sub("<id>", text)))


def _content(path: Path, instants: Mapping[str, str]) -> str:
    if path.is_dir():
        return "folder"
    content = path.read_bytes()
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as database:
            return _plain("\n".join(database.iterdump()), instants)
    if content[:1] == b"{":
        try:
            return _FIGURES.sub("", _plain(json.dumps(json.loads(content)), instants))
        except ValueError:
            return f"broken, {len(content)} bytes"
    return f"about {round(len(content) / _ABOUT)}" if content else "empty"
