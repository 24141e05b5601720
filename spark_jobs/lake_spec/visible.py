"""What a table's readers see: live rows, and the columns that mean something."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TECHNICAL, TableSpec
from spark_jobs.lake_spec.versions import OF_AN_EVENT, history_columns


def is_technical(column: str) -> bool:
    """True for columns that keep a table right and mean nothing to a reader."""
    return column == CELL_ID or "__" in column or column.startswith("_hoodie")


def shown_columns(table: str, stored: Iterable[str], spec: LakeSpec) -> tuple[str, ...]:
    """Those of a table's stored columns that readers see: without event orders and technical ones.

    Of a history these too, because they say what its rows are.
    """
    names = tuple(stored)
    if (kept := spec.history_of(table)) is not None:
        return (*history_columns(kept, names), *OF_AN_EVENT)
    declared = spec.find_table(table)
    if declared is not None and not declared.is_mirror:
        return (*declared.key, *(name for name in declared.columns if name in names))
    own = TECHNICAL if declared is not None else ()
    return tuple(name for name in names if not is_technical(name) and name not in own)


def served_tables(spec: LakeSpec) -> tuple[TableSpec, ...]:
    """Tables whose rows the serving store has beside the marts."""
    return tuple(table for table in spec.tables if table.served)


def hides_deleted(table: str, spec: LakeSpec) -> bool:
    """True for a table that keeps tombstones, which readers do not see."""
    declared = spec.find_table(table)
    return declared is not None and declared.keeps_tombstones
