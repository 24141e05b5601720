"""What a lake spec says of its tables and their columns for people."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.lake_spec.described import Described
from spark_jobs.lake_spec.specs import LakeSpec


def described(spec: LakeSpec, table: str) -> Described:
    """What a table, load or mart is; its owner is the lake's where it has none of its own.

    A history is described as the table that it is of. Other tables that the lake has by itself have no description.
    """
    own: Described | None = spec.find_table(table) or spec.find_load(table) or spec.history_of(table)
    if own is None and table in spec.mart_names:
        own = spec.mart(table)
    found = own or Described()
    return found if found.owner else replace(found, owner=spec.owner)


def comments_of(spec: LakeSpec, table: str) -> dict[str, str]:
    """Comments of a table's columns by their names; those of the wide log count wherever a column is called alike."""
    load, declared = spec.find_load(table), spec.find_table(table) or spec.history_of(table)
    columns = load.columns if load else (*spec.source.columns, *(declared.declared if declared else ()))
    found = {column.name: column.comment for column in columns if column.comment}
    return {**found, **dict(described(spec, table).comments)}
