"""Folders of a campaign: each kind prepares a table once, and every point gets a copy of it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.layouts import TableLayout
from tests.support.numbered_tables import NumberedTable


@dataclass(frozen=True, slots=True)
class Home:
    """One kind's folder."""

    spark: SparkSession
    folder: Path
    layout: TableLayout

    def table(self, name: str, *, wait_seconds: int = 60) -> NumberedTable:
        """The table in the folder ``name``."""
        base = self.folder / name
        base.mkdir(parents=True, exist_ok=True)
        return NumberedTable(self.spark, self.layout, Settings(base_path=str(base), lease_wait_seconds=wait_seconds))

    def copy(self, name: str, *, wait_seconds: int = 60) -> NumberedTable:
        """The prepared table once more, in the folder ``name``."""
        prepared, table = Path(self.table("prepared").path), self.table(name, wait_seconds=wait_seconds)
        if prepared.exists():
            shutil.copytree(prepared, table.path)
        return table
