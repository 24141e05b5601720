"""How each table of a lake is stored: key, partitions, and which of the two physical forms it has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.lake_spec.loads import LoadSpec
from spark_jobs.lake_spec.marts import CELL_ID, MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import ROW_KEY, ROW_PARTITION, TableSpec
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.lake_spec.versions import HISTORY_KEY

EVENT_DATE = "event_date"
COMMIT_TIME = "_hoodie_commit_time"
HUDI_COLUMNS = (
    COMMIT_TIME,
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""Columns that Hudi puts before those of every table, all of type string."""


class StorageForm(StrEnum):
    """How a table's commits change its files.

    APPENDED: copy-on-write files that are only ever added, so that an incremental pull reads just what is new.
    KEYED: a bucket index: an upsert goes to the bucket of each key and looks nothing up. Of either table type.
    REPLACED: copy-on-write, a whole table in one commit: an append-only one that has to be rebuilt.
    """

    APPENDED = "appended"
    KEYED = "keyed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """One table on storage; ``buckets`` and ``type`` count for keyed tables only."""

    name: str
    record_key: str
    form: StorageForm
    partition: str = ""
    buckets: int = 1
    type: TableType = TableType.COPY_ON_WRITE

    @property
    def is_merged(self) -> bool:
        """True for a table with log files, which readers merge with its base files."""
        return self.form is StorageForm.KEYED and self.type is TableType.MERGE_ON_READ


def log_layout(spec: LakeSpec) -> TableLayout:
    """The event log, one partition a day of event time (part of an event's identity, so duplicates share it)."""
    return TableLayout(name=spec.log, record_key="event_id", partition=EVENT_DATE, form=StorageForm.APPENDED)


def quarantine_layout(spec: LakeSpec) -> TableLayout:
    """Records that could not be used, by a hash of their bytes."""
    return TableLayout(
        name=spec.quarantine, record_key="record_hash", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ
    )


def quality_layout(spec: LakeSpec) -> TableLayout:
    """Results of quality, one partition a day: every engine sees them at once, and a repeated result is one row."""
    return TableLayout(name=spec.quality.table, record_key="result_id", partition="day", form=StorageForm.KEYED)


def table_layout(table: TableSpec) -> TableLayout:
    """A table that is merged from events; with one order a row its key is text, because it may have several columns."""
    return TableLayout(
        name=table.name,
        record_key=ROW_KEY if table.has_row_order else table.key_column,
        form=StorageForm.KEYED,
        partition=ROW_PARTITION if table.partition else "",
        buckets=table.buckets,
        type=table.type,
    )


def history_layout(table: TableSpec) -> TableLayout:
    """The values that each event has for the table's rows, in as many buckets as the table has."""
    return TableLayout(
        name=table.history_name,
        record_key=HISTORY_KEY,
        form=StorageForm.KEYED,
        buckets=table.buckets,
        type=table.type,
    )


def tombstones_layout(name: str) -> TableLayout:
    """What was deleted in tables that remove deleted rows."""
    return TableLayout(name=name, record_key="tombstone", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)


def mart_layout(mart: MartSpec, form: StorageForm | None = None) -> TableLayout:
    """A mart; its key is text made of the grain, because a group may be unknown (null)."""
    form = form or (StorageForm.APPENDED if mart.mode.traits.is_appended else StorageForm.KEYED)
    return TableLayout(
        name=mart.name,
        record_key=CELL_ID,
        form=form,
        partition=mart.partition,
        buckets=mart.buckets,
        type=mart.type if form is StorageForm.KEYED else TableType.COPY_ON_WRITE,
    )


def load_layout(load: LoadSpec) -> TableLayout:
    """A table that comes as whole files."""
    return TableLayout(
        name=load.name,
        record_key=load.record_key,
        form=StorageForm.KEYED,
        partition=load.partition_column,
        buckets=load.buckets,
        type=load.type,
    )


def partition_of(table: str, spec: LakeSpec) -> str:
    """The column a table is partitioned by, or ""."""
    return next(layout.partition for layout in all_layouts(spec) if layout.name == table)


def choose_layouts(spec: LakeSpec, table: str | None) -> dict[str, TableLayout]:
    """The table of this name, or every table when none is named; ContractError when the lake has no such table."""
    layouts = {layout.name: layout for layout in all_layouts(spec)}
    if table and table not in layouts:
        raise ContractError(f"lake {spec.lake} has no table {show(table)}; it has {sorted(layouts)}")
    return {table: layouts[table]} if table else layouts


def all_layouts(spec: LakeSpec) -> tuple[TableLayout, ...]:
    """Every table of the lake."""
    return (
        log_layout(spec),
        quarantine_layout(spec),
        *(table_layout(table) for table in spec.tables),
        *(history_layout(table) for table in spec.tables if table.history),
        *(tombstones_layout(name) for name in spec.tombstones),
        *(mart_layout(mart) for mart in spec.marts),
        *(load_layout(load) for load in spec.loads),
        quality_layout(spec),
    )
