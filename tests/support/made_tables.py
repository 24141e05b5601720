"""Tables made by hand: files with the right names and sizes, commits of small JSON. Instants are 1, 2, …, 17 digits.

Version 6 names: ``<time>.<action>.requested``, ``<time>.<action>.inflight`` (a commit's is ``<time>.inflight``),
``<time>.<action>``; base files ``<id>_<token>_<instant>.parquet``, log files ``.<id>_<base instant>.log.<n>_<token>``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.services.state import TableState


def at(number: int) -> Instant:
    """The n-th instant."""
    return Instant(f"{number:017d}")


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table's folder that is filled call by call; every call gives the table back."""

    layout: TableLayout
    folder: Path

    def __post_init__(self) -> None:
        (self.folder / ".hoodie").mkdir(parents=True)
        type_ = "MERGE_ON_READ" if self.layout.is_merged else "COPY_ON_WRITE"
        properties = f"hoodie.table.version=6\nhoodie.table.type={type_}\n"
        (self.folder / ".hoodie/hoodie.properties").write_text(properties)

    def commits(self, *numbers: int, action: str = "deltacommit", **content: Any) -> MadeTable:
        """Completed writes, all with this content."""
        for number in numbers:
            (self.folder / ".hoodie" / f"{at(number)}.{action}").write_text(json.dumps(content))
        return self

    def pending(self, number: int, action: str, text: str = "") -> MadeTable:
        """One that was requested and not finished."""
        (self.folder / ".hoodie" / f"{at(number)}.{action}.requested").write_text(text)
        return self

    def base(self, id_: str, number: int, *, size: int = 1, partition: str = "") -> MadeTable:
        """A base file of a commit."""
        return self._file(partition, f"{id_}_0-1-2_{at(number)}.parquet", size)

    def logs(
        self, id_: str, number: int, count: int, *, size: int = 1, version: int = 1, partition: str = ""
    ) -> MadeTable:
        """Log files over the slice that began at an instant, from a version on."""
        for each in range(version, version + count):
            self._file(partition, f".{id_}_{at(number)}.log.{each}_0-1-2", size)
        return self

    def look(self) -> TableState:
        """The table as services see it."""
        return TableState.look(self.layout, str(self.folder))

    def _file(self, partition: str, name: str, size: int) -> MadeTable:
        path = self.folder / partition / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)  # takes no room
        return self
