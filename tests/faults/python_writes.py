"""What Python writes stops like Hadoop's file system: small files, removed folders, leases, statements of a database.

The product writes and removes small files in one place (spark_jobs/storage/filesystem.py), opens the files of leases in
another, and has its statements carried out by SQLAlchemy. In a process of the campaign each of these operations first
goes past the switch of the storage. A file is written in two: its content beside it, then its name. A folder is removed
in two halves, the timeline of a table before its rows, because a process that is killed may leave any part of it.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy.engine.default import DefaultDialect

from spark_jobs.storage import file_leases, filesystem
from spark_jobs.storage.filesystem import Filesystem

LEASE, SQL = "lease", "sql"
_T = TypeVar("_T")
_READING = ("SELECT", "PRAGMA", "BEGIN")


@dataclass(frozen=True)
class _Writes:
    """Carries out operations unless the storage has stopped."""

    faults: Any

    def carry_out(self, name: str, path: str, operation: Callable[[], _T]) -> _T:
        allowed = self.faults.enter(name, path)
        if allowed < 0:
            raise OSError(f"storage stopped before {name}")
        answer = operation()
        if allowed > 0:
            raise OSError(f"storage stopped after {name}")
        return answer


class _System:
    """The module ``os`` with a replace that can stop."""

    def __init__(self, writes: _Writes) -> None:
        self._writes = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def replace(self, source: str, target: str) -> None:
        self._writes.carry_out("rename", target, lambda: os.replace(source, target))


def stop_python_writes(faults: Any) -> None:
    """From now on what this process writes goes past the switch."""
    writes, patch = _Writes(faults), pytest.MonkeyPatch()
    _stop_files(writes, patch)
    _stop_statements(writes, patch)


def _stop_files(writes: _Writes, patch: pytest.MonkeyPatch) -> None:
    delete, delete_tree, make_folder = Filesystem.delete, Filesystem.delete_tree, Filesystem.make_folder
    open_lease = file_leases._open

    def open_file(path: str, mode: str) -> Any:
        return writes.carry_out("create", path, lambda: builtins.open(path, mode))

    def delete_file(files: Filesystem, path: str) -> None:
        if files.find_file(path) is not None:
            writes.carry_out("delete", files._at(path), lambda: delete(files, path))

    def delete_folder(files: Filesystem, path: str = "") -> None:
        folder = Path(files._at(path))
        if folder.exists():
            writes.carry_out("delete half of", str(folder), lambda: _delete_half(folder))
        writes.carry_out("delete", str(folder), lambda: delete_tree(files, path))

    def make(files: Filesystem, path: str) -> None:
        writes.carry_out("mkdirs", files._at(path), lambda: make_folder(files, path))

    def take(path: Path) -> Any:
        return writes.carry_out(LEASE, str(path), lambda: open_lease(path))

    patch.setattr(filesystem, "os", _System(writes))
    patch.setattr(filesystem, "open", open_file, raising=False)
    patch.setattr(Filesystem, "delete", delete_file)
    patch.setattr(Filesystem, "delete_tree", delete_folder)
    patch.setattr(Filesystem, "make_folder", make)
    patch.setattr(file_leases, "_open", take)


def _delete_half(folder: Path) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    for file in files[: (len(files) + 1) // 2]:
        file.unlink()


def _stop_statements(writes: _Writes, patch: pytest.MonkeyPatch) -> None:
    """A database is no folder: its statements are the armed lake's, whatever that is."""

    def stopping(name: str) -> Callable[..., None]:
        carry_out = getattr(DefaultDialect, name)

        def execute(dialect: DefaultDialect, cursor: Any, statement: str, *given: Any) -> None:
            if statement.lstrip().upper().startswith(_READING):
                carry_out(dialect, cursor, statement, *given)
                return
            words = " ".join(statement.split()[:3])
            writes.carry_out(f"{SQL} {words}", "", lambda: carry_out(dialect, cursor, statement, *given))

        return execute

    for name in ("do_execute", "do_executemany", "do_execute_no_params"):
        patch.setattr(DefaultDialect, name, stopping(name))
    commit = DefaultDialect.do_commit

    def do_commit(dialect: DefaultDialect, connection: Any) -> None:
        writes.carry_out(f"{SQL} COMMIT", "", lambda: commit(dialect, connection))

    patch.setattr(DefaultDialect, "do_commit", do_commit)
