"""Folders of a campaign: each kind prepares a table once, and every point gets a copy of it."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.layouts import TableLayout
from tests.support.numbered_tables import NumberedTable

OLDER_SECONDS = 120
_COMMIT = re.compile(r"\d{17}\.[a-z]+")


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
        """The prepared table once more, in the folder ``name``, with what is beside it."""
        table = self.table(name, wait_seconds=wait_seconds)
        copy_lake(self.folder / "prepared", self.folder / name)
        return table


def copy_lake(source: Path, target: Path) -> None:
    """The lake once more; leases are of processes, not of lakes."""
    if source.exists():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".leases"), dirs_exist_ok=True)


def grow_old(base: Path) -> None:
    """Date back what is in a lake, but for commits: whoever comes next finds that no process was at work for a while.

    Retries of a scheduler come minutes later. What waits for a heartbeat to end need not wait here; drivers that are
    killed are followed at once (zombies.py), and wait. Of a commit the file's time says when it was completed.
    """
    for path in base.rglob("*"):
        if not _COMMIT.fullmatch(path.name):
            with suppress(FileNotFoundError):  # the timer of a heartbeat may be at work
                then = path.stat().st_mtime_ns - OLDER_SECONDS * 10**9
                os.utime(path, ns=(then, then))
