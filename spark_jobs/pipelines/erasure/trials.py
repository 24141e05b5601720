"""What an erasure tries before its first change: that nothing it will write or wait for can stop it half-way."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.lake_errors import UndeclaredTablesError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.erasure.search import Search
from spark_jobs.sources.erasure import FileFinding
from spark_jobs.sources.landing_files import find_unwritable
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.serving.store import ServingStore
from spark_jobs.storage.undeclared_tables import find_undeclared_tables
from spark_jobs.storage.unfinished import check_erasure

_MOST_NAMED = 3
_TRIED = ".hoodie/.lakehouse_tried"
"""A file that is written in a table's folder and removed again."""


def check_beforehand(spec: LakeSpec, settings: Settings) -> None:
    """Raise when the lake is in a state in which an erasure could not end.

    Raises:
        RestoreUnfinishedError: a restore was cut off, which needs the savepoint that an erasure would delete.
        RowsKeptError: a repair was cut off, and rows that may name the person are in no table.
        UndeclaredTablesError: tables that no entry declares may name the person, and it is not known how.
    """
    check_erasure(settings, spec.table_names)
    if undeclared := find_undeclared_tables(spec, settings):
        raise UndeclaredTablesError(base_path=settings.base_path, folders=undeclared)


def check_writable(search: Search, landing: Sequence[FileFinding], store: ServingStore | None) -> None:
    """Raise SettingsError unless the landing files that name the person, the tables and the store can be written.

    Files are tried where they are edited, on the executors: a folder may be mounted read-only there and not here.
    """
    named = [file.path for file in landing if file.records]
    problems = find_unwritable(search.context.spark, search.context.settings.landing_path, named)
    problems += filter(None, (_why_table(search.context.settings.table_path(table)) for table in search.touched))
    if problems:
        more = f" (and {len(problems) - _MOST_NAMED} more)" * (len(problems) > _MOST_NAMED)
        raise SettingsError(
            f"nothing was changed, because these cannot be written: {'; '.join(problems[:_MOST_NAMED])}{more}; give "
            f"the user of the job and of its executors write access, then run it again"
        )
    if store is not None:
        for mart in search.context.spec.marts[:1]:
            store.served(mart.name)  # raises when the database does not answer


def _why_table(path: str) -> str:
    files = Filesystem(path)
    if files.changed_ns(".hoodie") is None:
        return ""
    try:
        files.write(_TRIED, b"")
        files.delete(_TRIED)
    except SettingsError as error:
        return str(error)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return ""
