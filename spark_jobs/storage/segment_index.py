"""An index beside a lake: packed rows of tables, sorted by a hash, of which a lookup reads what its hashes need.

It has the form of sorted segments (see storage.segments) in folders below ``<base>/.row_index/<name>``: one for the
tables as they were first seen, then one for what each run changed, now and then merged into larger ones. What the rows
say of the tables, and how several of one hash are merged, is up to whoever makes an index: the *row index* of a lake
has the stored rows of its keyed tables, for the merge (pipelines.merge.tables); others serve marts (marts.day_index).
Merging rows is associative, so the folders together say what the tables say.

Nothing here is a source of truth. The manifest names the instant each table is indexed up to. What a table has beyond
it (another writer, a run that died before it could say so) is pulled from its timeline; an instant that the timeline
does not know (a restore), or after which the table was rebuilt by another definition, has the whole index built again.
A manifest that names a segment which is not there, or of another size, has the whole index built again too; so has a
segment with a wrong checksum, by the run after the one that found it. All of it, or any file, may be removed at any
time.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant
from spark_jobs.contracts.lake_errors import DamagedIndexError
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import union
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.forms import is_rebuilt_after
from spark_jobs.storage.reader import plan_pull, read_pull, read_snapshot
from spark_jobs.storage.segment_tasks import find_packed, read_packed, write_segments
from spark_jobs.storage.segments import Segment
from spark_jobs.storage.timeline import Timeline

FOLDER = ".row_index"
DUE_FOLDERS = 6
"""So many of the newest folders are merged, unless the oldest of them is far larger than the others."""
MAX_FOLDERS = 32
"""Folders a lookup reads at most; with more, which happens when no service runs, a writer merges the newest half."""
_MANIFEST = "manifest.json"
_DAMAGED = re.compile(r"index (?P<path>[0-9a-f]{32}/[0-9a-f]{32}) is damaged")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    instants: Mapping[str, Instant] = field(default_factory=dict)
    """Instant up to which each table is indexed."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names and types of the columns in the key and slots of each table."""
    folders: Mapping[str, Sequence[Segment]] = field(default_factory=dict)
    """The segments in each folder, oldest first."""

    @property
    def segments(self) -> list[Segment]:
        """Those of all folders."""
        return [segment for of_folder in self.folders.values() for segment in of_folder]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one run wrote: a folder, and the segments in it."""

    folder: str
    segments: Sequence[Segment]


class SegmentIndex:
    """The index of some tables of a lake. The caller holds the leases of all of them.

    Args:
        name: of the folder that it has.
        columns: of each table, those in its key and slots; more may come to their end.
        settings: where the lake is.
        pack: packed rows of a table's own rows, by the table's name.
        merge: ``packed`` with several rows of one key merged into one, as ``key_hash``, ``packed``.
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

    def instant_of(self, table: str) -> Instant:
        """The instant up to which it has the table; BEGINNING for a table of which it has nothing."""
        return self._manifest.instants.get(table) or BEGINNING

    @property
    def is_there(self) -> bool:
        """True when it has rows."""
        return bool(self._manifest.folders)

    @property
    def widest(self) -> int:
        """How many columns, the key among them, the widest table has of which there are rows."""
        return max(map(len, self._manifest.columns.values()), default=0)

    def catch_up(self, spark: SparkSession, timelines: Mapping[str, Timeline]) -> None:
        """Bring the index to the last instant of every table."""
        listed = self._files.list_files(recursive=True)
        sizes = {file.path.removeprefix(f"{self._files.root}/"): file.size for file in listed}
        is_whole = all(sizes.get(each.path) == each.size for each in self._manifest.segments)
        if not is_whole or not all(self._is_usable(table, timelines[table]) for table in self._columns):
            log.info("index %s: building it; later runs only add to it", self._name)
            self._manifest = _Manifest()
        behind = [table for table in self._columns if timelines[table].last != self._manifest.instants.get(table)]
        if behind:
            self._add(spark, [self._read_beyond(spark, table, timelines[table]) for table in behind])
            self._write_manifest({table: timelines[table].last or NO_INSTANT for table in behind})
        if len(self._manifest.folders) > MAX_FOLDERS:
            self._merge_newest(spark, max(MAX_FOLDERS // 2, newest_to_merge(self._sizes)))
        # A folder that has lost all its segments is in no listing of files.
        there = (path.rpartition("/")[0] for path in sizes if "/" in path) if is_whole else self._files.folders()
        self._remove_others(there)

    def merging_need(self) -> tuple[bool, str]:
        """Whether some of the newest folders are to be merged, and why or why not."""
        newest, every = newest_to_merge(self._sizes), len(self._manifest.folders)
        megabytes = sum(self._sizes[every - newest :]) / 1024 / 1024
        return (
            newest >= DUE_FOLDERS,
            f"{newest} of {every} folders of the index {self._name}, {megabytes:.1f} MB, can be merged",
        )

    def merge_folders(self, spark: SparkSession, *, is_forced: bool = False) -> int:
        """Merge those that are to be merged, or all of them; gives how many became one, 0 when none were."""
        newest = len(self._manifest.folders) if is_forced else newest_to_merge(self._sizes)
        if newest < (2 if is_forced else DUE_FOLDERS):
            return 0
        self._merge_newest(spark, newest)
        self._remove_others(self._files.folders())
        return newest

    @property
    def _sizes(self) -> list[int]:
        return [sum(each.size for each in segments) for segments in self._manifest.folders.values()]

    def find(self, hashes_df: DataFrame) -> DataFrame | None:
        """The rows that have a ``key_hash`` in ``hashes_df``, as ``packed``; None when nothing is stored.

        A key may come with several rows, which count as their merge, and with rows of keys that were not requested.
        They are read under :meth:`trusted`.
        """
        return find_packed(hashes_df, self._root, self._manifest.segments) if self._manifest.folders else None

    def write_layer(self, packed_df: DataFrame, *, most: int | None = None) -> Layer:
        """Write packed rows (``key_hash``, ``packed``), about to be committed; :meth:`accept` makes them count.

        ``most`` rows are there; None when that is not known.
        """
        folder = uuid.uuid4().hex
        return Layer(folder=folder, segments=write_segments(packed_df, self._root, folder, most=most))

    def accept(self, layer: Layer, instants: Mapping[str, Instant]) -> None:
        """The rows of ``layer`` were committed to these tables, at these instants, and to no others."""
        self._manifest = self._with_layer(layer)
        self._write_manifest(instants)

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """For the block in which Spark reads segments: a damaged one removes the index and raises DamagedIndexError."""
        try:
            yield
        except Exception as error:
            if found := _DAMAGED.search(str(error)):
                self._manifest = _Manifest()
                self._files.delete(_MANIFEST)
                raise DamagedIndexError(path=f"{self._name}/{found['path']}") from error
            raise

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
            log.info("index %s: adding what came to %s after %s", self._name, table, indexed)
            rows_df = read_pull(spark, timeline.path, plan_pull(timeline, after=indexed))
        return self._pack(table, rows_df)

    def _add(self, spark: SparkSession, parts: Sequence[DataFrame]) -> None:
        self._manifest = self._with_layer(self.write_layer(union(parts)))

    def _merge_newest(self, spark: SparkSession, count: int) -> None:
        """Merge so many of the newest folders into one."""
        folders = list(self._manifest.folders.items())
        kept, merged = folders[: len(folders) - count], folders[len(folders) - count :]
        read = [segment for _, segments in merged for segment in segments]
        with self.trusted():
            rows_df = self._merge(read_packed(spark, self._root, read))
            layer = self.write_layer(rows_df, most=sum(segment.rows for segment in read))
        self._manifest = replace(self._manifest, folders=dict(kept))
        self._manifest = self._with_layer(layer)
        self._write_manifest({})

    def _remove_others(self, there: Iterable[str]) -> None:
        """Remove folders that were merged, and those of runs that died."""
        for folder in set(there) - set(self._manifest.folders):
            self._files.delete_tree(folder)

    def _with_layer(self, layer: Layer) -> _Manifest:
        return replace(self._manifest, folders={**self._manifest.folders, layer.folder: layer.segments})

    def _read_manifest(self) -> _Manifest:
        """What was written last; empty when there is none or it cannot be read (then the index is rebuilt)."""
        try:
            content = json.loads(self._files.read(_MANIFEST) or b"{}")
            folders = {
                name: tuple(Segment(**segment) for segment in segments)
                for name, segments in content.get("folders", {}).items()
            }
            return _Manifest(
                instants=dict(content.get("instants", {})), columns=dict(content.get("columns", {})), folders=folders
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


def newest_to_merge(sizes: Sequence[int]) -> int:
    """How many of the newest folders can be merged: the oldest of them is at most twice as large as all after it.

    Merged when it is some of them, the number of folders stays with the logarithm of their bytes, and a byte is
    written again as often.

    Args:
        sizes: bytes of each folder, oldest first.
    """
    return next((len(sizes) - at for at, size in enumerate(sizes) if size <= 2 * sum(sizes[at + 1 :])), 0)


def day_index_name(spec: LakeSpec, column: str) -> str:
    """The name of the index of the days of a column's values; that of the rows has the lake's own name."""
    return f"{spec.lake}.days.{column}"


def drop_indexes(spec: LakeSpec, settings: Settings) -> None:
    """Remove all indexes of a lake; the next use rebuilds each. The caller holds the leases of all its tables."""
    root = settings.table_path(FOLDER)
    names = (name for name in Filesystem(root).folders() if name.split(".")[0] == spec.lake)
    for files in (Filesystem(f"{root}/{name}") for name in names):
        files.delete(_MANIFEST)  # first: a removal that is cut off must not leave one that names folders which are gone
        with suppress(FileNotFoundError):
            files.delete_tree()
