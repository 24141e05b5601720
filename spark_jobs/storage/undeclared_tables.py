"""Folders of a lake that no entry of its spec declares: tables of another spec, or of entries that were removed."""

from __future__ import annotations

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import all_layouts

_TIMELINE = ".hoodie"


def find_undeclared_tables(spec: LakeSpec, settings: Settings) -> list[str]:
    """Names of the tables below the lake's path that are none of the spec's, also of those begun and not finished."""
    declared = declared_tables(spec)
    return [name for name in table_folders(Filesystem(settings.base_path)) if name not in declared]


def find_other_folders(spec: LakeSpec, settings: Settings) -> list[str]:
    """Names of the folders below the lake's path that are no tables, and that the lake did not make."""
    files = Filesystem(settings.base_path)
    known = {*declared_tables(spec), *table_folders(files)}
    return [name for name in files.folders() if name not in known and not name.startswith(".")]


def table_folders(files: Filesystem) -> list[str]:
    """Names of the folders of tables below a lake's path, also of those begun and not finished.

    What begins with a dot is kept beside the tables.
    """
    return [name for name in files.folders() if not name.startswith(".") and _TIMELINE in files.folders(name)]


def declared_tables(spec: LakeSpec) -> frozenset[str]:
    """The tables of the spec, with those that are kept beside them."""
    return frozenset((*spec.table_names, *(layout.name for layout in all_layouts(spec))))
