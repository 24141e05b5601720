"""The data files of a table of version 6, as a listing shows them: file groups, their slices, base and log files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.filesystem import FileEntry, Filesystem

_BASE = re.compile(r"^(?P<id>.+)_\d+-\d+-\d+_(?P<instant>\d{17})\.parquet$")
_LOG = re.compile(r"^\.(?P<id>.+)_(?P<instant>\d{17})\.log\.\d+_\d+-\d+-\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A base file (or none yet) and the log files over it. ``instant`` is that of the commit that began it."""

    instant: Instant
    base: FileEntry | None
    logs: tuple[FileEntry, ...]

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """All of them."""
        return (*((self.base,) if self.base else ()), *self.logs)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """The slices of one file group, oldest first; of an instant with several base files each makes a slice."""

    partition: str
    id: str
    slices: tuple[Slice, ...]


@dataclass(slots=True)
class _Parts:
    bases: list[tuple[Instant, FileEntry]] = field(default_factory=list)
    logs: dict[Instant, list[FileEntry]] = field(default_factory=dict)


def list_file_groups(path: str) -> list[FileGroup]:
    """Every file group below a table's folder, by partition and id, also of writers that never committed."""
    files = Filesystem(path)
    return sorted(
        group_files(files.root, files.list_files(recursive=True)), key=lambda group: (group.partition, group.id)
    )


def group_files(root: str, entries: Iterable[FileEntry]) -> Iterator[FileGroup]:
    """The same of files that were listed before; what is no data file is left out."""
    parts: dict[tuple[str, str], _Parts] = {}
    for entry in entries:
        partition, _, name = entry.path.removeprefix(root).strip("/").rpartition("/")
        if partition.split("/")[0] == ".hoodie":
            continue
        if match := _BASE.match(name):
            parts.setdefault((partition, match["id"]), _Parts()).bases.append((Instant(match["instant"]), entry))
        elif match := _LOG.match(name):
            logs = parts.setdefault((partition, match["id"]), _Parts()).logs
            logs.setdefault(Instant(match["instant"]), []).append(entry)
    for (partition, id_), found in parts.items():
        yield FileGroup(partition=partition, id=id_, slices=_slices(found.bases, found.logs))


def _slices(bases: list[tuple[Instant, FileEntry]], logs: Mapping[Instant, list[FileEntry]]) -> tuple[Slice, ...]:
    with_base = {instant for instant, _ in bases}
    slices = [Slice(instant=i, base=base, logs=tuple(logs.get(i, ()))) for i, base in bases]
    slices += [Slice(instant=i, base=None, logs=tuple(files)) for i, files in logs.items() if i not in with_base]
    return tuple(sorted(slices, key=lambda each: each.instant))
