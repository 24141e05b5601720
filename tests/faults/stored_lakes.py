"""The small lake of the campaign with its tables on an object store; landing files and the serving store are local."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from local_stack.demos.lake_view import read_with_rust
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.segment_index import FOLDER as ROW_INDEX
from tests.faults.small_lakes import SmallLake
from tests.faults.verdicts import is_there


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLake(SmallLake):
    """Such a lake below the URI ``base``."""

    base: str

    @property
    def settings(self) -> Settings:
        return replace(super(StoredLake, self).settings, base_path=self.base)

    def rows_by_spark(self, table: str) -> list[dict[str, Any]]:
        """Rows as Spark reads them, in no order."""
        if not is_there(self.path(table)):
            return []
        return [row.asDict() for row in self.spark.read.format("hudi").load(self.path(table)).collect()]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows as the Rust reader reads them, in no order."""
        return read_with_rust(self.path(table)) if is_there(self.path(table)) else []

    def left_over(self) -> Iterator[str]:
        """Folders of the row index that its manifest does not name; small files are written without other names."""
        index = Filesystem(f"{self.base}/{ROW_INDEX}/small")
        known = json.loads(index.read("manifest.json") or b'{"folders": {}}')["folders"]
        yield from (f"folder {folder} of the row index" for folder in index.folders() if folder not in known)
