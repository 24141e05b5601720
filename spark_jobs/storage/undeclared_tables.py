"""Folders of a lake that no entry of its spec declares: tables of another spec, or of entries that were removed."""

from __future__ import annotations

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import all_layouts

_TIMELINE = ".hoodie"


def find_undeclared_tables(spec: LakeSpec, settings: Settings) -> list[str]:
    """Names of the tables below the lake's path that are none of the spec's, also of those begun and not finished."""
    files = Filesystem(settings.base_path)
    return [name for name in _others(spec, files) if _TIMELINE in files.folders(name)]


def find_other_folders(spec: LakeSpec, settings: Settings) -> list[str]:
    """Names of the folders below the lake's path that are no tables, and that the lake did not make."""
    files = Filesystem(settings.base_path)
    return [name for name in _others(spec, files) if _TIMELINE not in files.folders(name)]


def _others(spec: LakeSpec, files: Filesystem) -> list[str]:
    """Folders of no table of the spec; what begins with a dot is kept beside the tables."""
    declared = {*spec.table_names, *(layout.name for layout in all_layouts(spec))}
    return [name for name in files.folders() if name not in declared and not name.startswith(".")]
