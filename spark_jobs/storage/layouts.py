"""How each table of a lake lies on storage: key, partitions, and which of the two physical forms it has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.specs import LakeSpec, MartSpec, TableSpec, TableType

EVENT_DATE = "event_date"


class StorageForm(StrEnum):
    """How a table's commits change its files.

    APPENDED: copy-on-write files that are only ever added, so that an incremental pull reads just what is new.
    KEYED: a bucket index: an upsert goes to the bucket of each key and looks nothing up. Of either table type.
    REPLACED: copy-on-write, the whole (small) table in one commit; every engine reads it as it is.
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


def log_layout(spec: LakeSpec) -> TableLayout:
    """The event log, one partition a day of event time (part of an event's identity, so duplicates share it)."""
    return TableLayout(name=spec.log, record_key="event_id", partition=EVENT_DATE, form=StorageForm.APPENDED)


def quarantine_layout(spec: LakeSpec) -> TableLayout:
    """Records that could not be used, by a hash of their bytes."""
    return TableLayout(
        name=spec.quarantine, record_key="record_hash", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ
    )


def table_layout(table: TableSpec) -> TableLayout:
    """A table of newest values."""
    return TableLayout(
        name=table.name, record_key=table.key, form=StorageForm.KEYED, buckets=table.buckets, type=table.type
    )


def mart_layout(mart: MartSpec) -> TableLayout:
    """A mart; its key is text made of the grain, because a group may be unknown (null)."""
    return TableLayout(name=mart.name, record_key="cell_id", form=StorageForm.REPLACED)


def all_layouts(spec: LakeSpec) -> tuple[TableLayout, ...]:
    """Every table of the lake."""
    return (
        log_layout(spec),
        quarantine_layout(spec),
        *(table_layout(table) for table in spec.tables),
        *(mart_layout(mart) for mart in spec.marts),
    )
