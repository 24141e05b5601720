"""Folders of a lake that no entry of its spec declares: tables of another spec, or of entries that were removed."""

from __future__ import annotations

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import all_layouts


def find_undeclared(spec: LakeSpec, settings: Settings) -> list[str]:
    """Names of the tables below the lake's path that are none of the spec's, also of those begun and not finished.

    Other folders are no tables: what begins with a dot is kept beside them, the rest is not the lake's.
    """
    files, declared = Filesystem(settings.base_path), {*spec.table_names, *(each.name for each in all_layouts(spec))}
    others = [name for name in files.folders() if name not in declared and not name.startswith(".")]
    return [name for name in others if ".hoodie" in files.folders(name)]
