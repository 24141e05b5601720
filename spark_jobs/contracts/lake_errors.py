"""Errors of the state that a lake's storage is in, and that jobs do not go on with."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.contracts.errors import TerminalError, TransientError
from spark_jobs.contracts.instants import Instant


class CommitTimesError(TerminalError):
    """The files of a table's commits do not have the times at which these ended, by which Hudi reads the table."""

    def __init__(self, *, table: str, instants: Sequence[Instant]) -> None:
        self.table, self.instants = table, tuple(instants)
        super().__init__(
            f"{table}: the files of {len(self.instants)} commits are younger than the commits, as after a copy that "
            f"does not keep times, and Hudi would read them wrong; run: doctor repair (docs/moving.md)"
        )


class DamagedIndexError(TransientError):
    """A file of an index is not what was written. The index is a copy: the next run builds it again."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"index {path} is damaged and the index was removed; run it again, which rebuilds the index")


class UndeclaredTablesError(TerminalError):
    """Folders of the lake belong to no entry of its spec, so nothing can be done with what is in them."""

    def __init__(self, *, base_path: str, folders: Sequence[str]) -> None:
        self.folders = tuple(folders)
        super().__init__(
            f"no entry of the lake spec declares {', '.join(self.folders)} below {base_path}, and they may name the "
            f"person; declare them again, or move or delete these folders, then run it again"
        )
