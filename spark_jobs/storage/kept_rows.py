"""Rows on their way from a commit that a repair took off to the one that has them again: kept below ``<base>/.ahead``.

Between the two they are in no table, and the log does not say any more that they were read.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contracts.clocks import RowsKeptError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem

AHEAD_FOLDER = ".ahead"
"""Below the base path, with a folder for each table and in it one for each commit."""


def kept_commits(settings: Settings) -> dict[str, list[str]]:
    """Tables of which a repair that was cut off keeps rows, with the commits that these are of."""
    files = Filesystem(settings.base_path)
    return {table: sorted(files.folders(f"{AHEAD_FOLDER}/{table}")) for table in sorted(files.folders(AHEAD_FOLDER))}


def check_nothing_kept(settings: Settings) -> None:
    """Raise RowsKeptError while rows of a repair that was cut off are in no table: they would be read once more."""
    if tables := [*kept_commits(settings)]:
        raise RowsKeptError(tables=tables)


def drop_kept(tables: Iterable[str], settings: Settings) -> None:
    """Forget the rows that are kept of some tables, which a restore takes back to a state of before.

    No savepoint has the commits that they are of. Committed again they would say that everything was read up to there,
    and what came between the savepoint and them would be skipped.
    """
    files, kept = Filesystem(settings.base_path), kept_commits(settings)
    for table in tables:
        if table in kept:
            files.delete_tree(f"{AHEAD_FOLDER}/{table}")
