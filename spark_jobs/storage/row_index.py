"""The rows of a lake's keyed tables, kept a second time in the form in which a merge looks them up.

A merge needs the stored rows of the keys in its batch. Reading them from the tables costs a scan of every column, the
merging of log files and a plan for each table. So they are kept packed (see transforms.packed) in Parquet folders below
``<base>/.row_index/<lake>``: one for the tables as they were first seen, then one for what each run changed, now and
then merged into larger ones. Merging rows is associative, so the folders together say what the tables say.

Nothing here is a source of truth. The manifest names the instant each table is indexed up to. What a table has beyond
it (another writer, a run that died before it could say so) is pulled from its timeline; an instant that the timeline
does not know (a restore), or after which the table was rebuilt by another definition, has the whole index built again.
A manifest that names a folder which is not there has the whole index built again too. All of it, or any folder, may
be removed at any time.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.contracts.packed_rows import KEY_HASH, PACKED_SCHEMA
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import union
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.forms import is_rebuilt_after
from spark_jobs.storage.reader import plan_pull, read_pull, read_snapshot
from spark_jobs.storage.timeline import Timeline

FOLDER = ".row_index"
MAX_FOLDERS = 12
"""Folders a lookup reads at most; with more, the small ones are merged."""
MAX_BROADCAST = 2_000_000
"""Keys sent to every task of a lookup; more are joined by a shuffle."""
_MANIFEST = "manifest.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    instants: Mapping[str, Instant] = field(default_factory=dict)
    """Instant up to which each table is indexed."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names and types of the columns in the key and slots of each table."""
    folders: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each folder, oldest first."""


class RowIndex:
    """The index of some tables of a lake. The caller holds the leases of all of them.

    Args:
        name: of the folder that it has.
        columns: of each table, those in its key and slots; more may come to their end.
        settings: where the lake is.
        pack: packed rows of a table's own rows, by the table's name.
        merge: packed rows with several of one key merged into one.
    """

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Sequence[str]],
        settings: Settings,
        *,
        pack: Callable[[str, DataFrame], DataFrame],
        merge: Callable[[DataFrame], DataFrame],
    ) -> None:
        self._name, self._pack, self._merge = name, pack, merge
        self._columns = {table: list(of_table) for table, of_table in columns.items()}
        self._root = f"{settings.table_path(FOLDER)}/{name}"
        self._files = Filesystem(self._root)
        self._manifest = self._read_manifest()

    @property
    def widest(self) -> int:
        """How many columns, the key among them, the widest table has of which there are rows."""
        return max(map(len, self._manifest.columns.values()), default=0)

    def catch_up(self, spark: SparkSession, timelines: Mapping[str, Timeline]) -> None:
        """Bring the index to the last instant of every table."""
        there = set(self._files.folders())
        is_whole = there.issuperset(self._manifest.folders)  # else one was removed, or an older manifest is back
        if not is_whole or not all(self._is_usable(table, timelines[table]) for table in self._columns):
            log.info("%s: building the row index; later runs only add to it", self._name)
            self._manifest = _Manifest()
        behind = [table for table in self._columns if timelines[table].last != self._manifest.instants.get(table)]
        if behind:
            self._add(spark, [self._read_beyond(spark, table, timelines[table]) for table in behind])
            self._write_manifest({table: timelines[table].last or NO_INSTANT for table in behind})
        if len(self._manifest.folders) > MAX_FOLDERS:
            self._merge_folders(spark)
        for folder in there - set(self._manifest.folders):
            Filesystem(f"{self._root}/{folder}").delete_tree()

    def find(self, spark: SparkSession, hashes_df: DataFrame, *, most: int) -> DataFrame | None:
        """Packed rows that have a ``key_hash`` in ``hashes_df``, at most ``most`` of them; None when nothing is stored.

        A key may come with several rows, which count as their merge, and with rows of keys that were not requested.
        """
        if not self._manifest.folders:
            return None
        wanted_df = F.broadcast(hashes_df) if most <= MAX_BROADCAST else hashes_df
        return self._read(spark, tuple(self._manifest.folders)).join(wanted_df, KEY_HASH, "left_semi")

    def write_layer(self, packed_df: DataFrame) -> str:
        """Write packed rows (``key_hash``, ``packed``), about to be committed; :meth:`accept` makes them count."""
        folder = uuid.uuid4().hex
        packed_df.write.parquet(f"{self._root}/{folder}")
        return folder

    def accept(self, folder: str, instants: Mapping[str, Instant]) -> None:
        """The rows of ``folder`` were committed to these tables, at these instants, and to no others."""
        self._manifest = self._with_folder(folder)
        self._write_manifest(instants)

    def _is_usable(self, table: str, timeline: Timeline) -> bool:
        indexed = self._manifest.instants.get(table)
        if indexed is None:
            return True
        known = list(self._manifest.columns.get(table, ()))
        is_same_form = self._columns[table][: len(known)] == known
        return is_same_form and timeline.holds(indexed) and not is_rebuilt_after(timeline, indexed)

    def _read_beyond(self, spark: SparkSession, table: str, timeline: Timeline) -> DataFrame:
        indexed = self._manifest.instants.get(table)
        if indexed is None:
            rows_df = read_snapshot(spark, timeline.path)
        else:
            log.info("table %s: adding what came after %s to the row index", table, indexed)
            rows_df = read_pull(spark, timeline.path, plan_pull(timeline, after=indexed))
        return self._pack(table, rows_df)

    def _add(self, spark: SparkSession, parts: Sequence[DataFrame]) -> None:
        self._manifest = self._with_folder(self.write_layer(union(parts)))

    def _merge_folders(self, spark: SparkSession) -> None:
        """Merge the newest folders: at least half of those allowed, and every older one that is not far larger."""
        names, sizes = list(self._manifest.folders), list(self._manifest.folders.values())
        first = len(names) - MAX_FOLDERS // 2
        while first > 0 and sizes[first - 1] <= 2 * sum(sizes[first:]):
            first -= 1
        merged = self.write_layer(self._merge(self._read(spark, names[first:])))
        kept = {name: self._manifest.folders[name] for name in names[:first]}
        self._manifest = replace(self._manifest, folders=kept)
        self._manifest = self._with_folder(merged)
        self._write_manifest({})

    def _read(self, spark: SparkSession, folders: Sequence[str]) -> DataFrame:
        return spark.read.schema(PACKED_SCHEMA).parquet(*(f"{self._root}/{folder}" for folder in folders))

    def _with_folder(self, folder: str) -> _Manifest:
        size = sum(entry.size for entry in self._files.list_files(folder))
        return replace(self._manifest, folders={**self._manifest.folders, folder: size})

    def _read_manifest(self) -> _Manifest:
        """What was written last; empty when there is none or it cannot be read (then the index is rebuilt)."""
        try:
            content = json.loads(self._files.read(_MANIFEST) or b"{}")
            return _Manifest(
                instants=dict(content.get("instants", {})),
                columns=dict(content.get("columns", {})),
                folders=dict(content.get("folders", {})),
            )
        except (ValueError, AttributeError, TypeError):
            return _Manifest()

    def _write_manifest(self, instants: Mapping[str, Instant]) -> None:
        columns = {name: self._columns[name] for name in instants}
        self._manifest = replace(
            self._manifest,
            instants={**self._manifest.instants, **instants},
            columns={**self._manifest.columns, **columns},
        )
        self._files.write(_MANIFEST, json.dumps(asdict(self._manifest), indent=1).encode())


def drop_row_index(spec: LakeSpec, settings: Settings) -> None:
    """Remove the index of a lake; the next use rebuilds it. The caller holds the leases of all its tables."""
    files = Filesystem(f"{settings.table_path(FOLDER)}/{spec.lake}")
    files.delete(_MANIFEST)  # first: a removal that is cut off must not leave one that names folders which are gone
    with suppress(FileNotFoundError):
        files.delete_tree()
