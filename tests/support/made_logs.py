"""Logs made by hand: commits of data files in two partitions, which a reader pulls as plans say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_jobs.contracts.instants import BEGINNING
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.reader import Pull, plan_pull
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

LOG = TableLayout(name="log", record_key="id", partition="day", form=StorageForm.APPENDED)
File = tuple[int, str]
"""A commit's number and the path of a file that it wrote."""


@dataclass
class MadeLog:
    """A log on disk, and the files that its commits wrote, in order, by plain Python."""

    folder: Path
    table: MadeTable = field(init=False)
    sizes: dict[File, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = MadeTable(LOG, self.folder)

    @property
    def timeline(self) -> Timeline:
        return Timeline(table="log", path=str(self.folder))

    def commit(self, number: int, sizes: Sequence[int], *, action: str = "commit", **content: Any) -> None:
        """One commit; its statistics come in an order of their own, as Hudi's do."""
        stats: dict[str, list[dict[str, object]]] = {"day=1": [], "day=2": []}
        found: dict[File, int] = {}
        for file, size in enumerate(sizes):
            partition = f"day={1 + file % 2}"
            path = f"{partition}/{number:02d}{file:02d}_0-1-2_{at(number)}.parquet"
            self.table.base(f"{number:02d}{file:02d}", number, size=size, partition=partition)
            stats[partition].insert(0, {"path": path, "totalWriteBytes": size})
            found[number, path] = size
        self.table.commits(number, action=action, partitionToWriteStats=stats, **content)
        if action == "commit":
            self.sizes |= dict(sorted(found.items()))

    def serve(self, number: int, action: str = "replacecommit", operation: str = "CLUSTER") -> None:
        self.table.commits(number, action=action, operationType=operation)

    def files_of(self, pull: Pull) -> list[File]:
        """The files whose rows a pull gives."""
        if pull.part:
            return [(int(pull.part.instant), path) for path in pull.part.files]
        return [file for file in self.sizes if pull.window.after < at(file[0]) <= pull.window.up_to]

    def pulls(self, most_bytes: int | None, after: str = BEGINNING) -> Iterator[Pull]:
        """What a reader pulls until there is no more, each planned again from its checkpoint as text."""
        while True:
            pull = plan_pull(self.timeline, after=after, most_bytes=most_bytes)
            yield pull
            if not pull.has_more:
                return
            after = pull.checkpoint
