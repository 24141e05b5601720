"""The form that Hudi keeps of a table in ``hoodie.properties``: its record key, its partition column and its type.

Hudi takes it from the table's first writer, and refuses every later one that has another. Of a table that is rebuilt
the record key may change: readers do not use its name, they tell rows apart by the key that is written in each of
them. The rest stays. With partitions or without them readers look for files in other places, and of the two steps, the
commit and the new name, one would come first and leave some readers without a row. And a table that was merge-on-read
has states of before in log files, which are not read in one that is copy-on-write.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

REBUILT = "rebuilt"
"""In the metadata (without prefix) of a commit that replaced all rows by those of another definition: what it was for.
What was known of rows before it (the row index) is not to be merged with them."""
KEY_BEFORE = "record_key_before"
"""In the metadata (without prefix) of such a commit: the record key that the table had before."""
_PROPERTIES, _CHECKSUM = ".hoodie/hoodie.properties", ".hoodie/.hoodie.properties.crc"
_KEY, _TYPE = "hoodie.table.recordkey.fields", "hoodie.table.type"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableForm:
    """One form; ``partition`` is "" for a table without partitions."""

    record_key: str
    partition: str
    type: TableType

    @classmethod
    def of(cls, layout: TableLayout) -> TableForm:
        """The form of a layout."""
        return cls(record_key=layout.record_key, partition=layout.partition, type=layout.type)

    @classmethod
    def stored(cls, timeline: Timeline) -> TableForm | None:
        """The form of a table on storage; None when its files do not have it."""
        known = timeline.properties
        if not {_KEY, _TYPE} <= known.keys():
            return None
        partition = known.get("hoodie.table.partition.fields", "")
        return cls(record_key=known[_KEY], partition=partition, type=TableType(known[_TYPE].lower()))

    def changes(self, other: TableForm) -> tuple[str, ...]:
        """Names of the parts in which another form differs, as the lake spec calls them."""
        named = {"type": "type", "record_key": "key", "partition": "partition"}
        own, others = asdict(self), asdict(other)
        return tuple(name for part, name in named.items() if own[part] != others[part])

    def layout(self, name: str) -> TableLayout:
        """The layout of a keyed table of this form, but for the number of its buckets."""
        return TableLayout(
            name=name,
            record_key=self.record_key,
            form=StorageForm.KEYED,
            partition=self.partition,
            type=self.type,
        )


def name_record_key(path: str, record_key: str) -> None:
    """Name another record key in the table's properties, in one step; all else in them stays as it is."""
    files = Filesystem(path)
    lines = (files.read(_PROPERTIES) or b"").decode().splitlines()
    kept = [line for line in lines if line.partition("=")[0].strip() != _KEY]
    files.delete(_CHECKSUM)  # of the content before: Hadoop's local file system would find the new one broken by it
    files.write(_PROPERTIES, "".join(f"{line}\n" for line in (*kept, f"{_KEY}={record_key}")).encode())


def key_before(timeline: Timeline, instant: Instant) -> str | None:
    """The record key that the table had at an instant, when a later commit gave it another; None when none did."""
    for write in timeline.writes:
        if write.time > instant and (key := timeline.metadata(write).get(METADATA_PREFIX + KEY_BEFORE)):
            return key
    return None


def is_rebuilt_after(timeline: Timeline, instant: Instant) -> bool:
    """True when a commit after the instant replaced the rows by those of another definition."""
    later = (write for write in timeline.writes if write.time > instant)
    return any(METADATA_PREFIX + REBUILT in timeline.metadata(write) for write in later)
