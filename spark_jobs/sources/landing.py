"""Landing files to a plan: which bytes of which files this run reads.

A file is known by its content, not by its name: the ledger holds, for each path, how many bytes were read and their
hash. Grown: the same beginning, more bytes. Renamed or copied: the content of another entry. Replaced: another
beginning, so it is read from its start. Bytes count after decompression. Rows have identities of their own, so reading
something twice would cost time and change nothing; the ledger saves that time and makes "nothing new" visible.

What a run reads is bounded by records and by bytes: as many records, of ``RECORD_BYTES`` on average.
"""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any

from spark_jobs.contracts.names import spell
from spark_jobs.sources.file_scan import FileScan, LedgerEntry, ScanOrder, scan_here
from spark_jobs.sources.landing_plan import LandingPlan, PlanBuilder
from spark_jobs.sources.topics import is_topic
from spark_jobs.storage.filesystem import FileEntry, Filesystem

RECORD_BYTES = 8 * 1024
"""A run that may read so many records reads at most as many bytes for each, after decompression."""
_WAVE_BYTES = 256 * 1024 * 1024
"""Files of so many bytes, as stored, are looked through side by side at most; then it is decided whether more are."""
_RECORD_BYTES_STORED, _LEAST_WAVE_BYTES = 128, 16 * 1024 * 1024
"""Of a record in a packed file, about, before one was seen; and what is not worth a decision of its own."""
_LOOK_BYTES = 64 * 1024 * 1024
_OLD_FIELDS = 4
_MOST_NAMED = 3
Scan = Callable[[Filesystem, Sequence[ScanOrder]], list[FileScan]]
"""Looks files through, in this process or on the executors."""

log = logging.getLogger(__name__)


def pack_ledger(ledger: Mapping[str, LedgerEntry]) -> str:
    """The ledger as short text for commit metadata."""
    content = json.dumps({path: _values(entry) for path, entry in sorted(ledger.items())})
    return base64.b64encode(zlib.compress(content.encode(), 9)).decode()


def unpack_ledger(text: str | None) -> dict[str, LedgerEntry]:
    """Read what :func:`pack_ledger` wrote; empty for None."""
    if not text:
        return {}
    content = json.loads(zlib.decompress(base64.b64decode(text)))
    names = [field.name for field in fields(LedgerEntry)]
    return {path: LedgerEntry(**dict(zip(names, values, strict=False))) for path, values in content.items()}


def _values(entry: LedgerEntry) -> list[Any]:
    """Of most files the last ones say nothing, and each has to be in every commit."""
    values = [*astuple(entry)]
    return values if any(values[_OLD_FIELDS:]) else values[:_OLD_FIELDS]


def list_landing(files: Filesystem, topics: tuple[str, ...]) -> tuple[list[FileEntry], tuple[str, ...]]:
    """Files of the topics' folders by time of arrival, and a message for each folder or file that is not read.

    Names that begin with ``.`` or ``_`` and ``*.tmp`` are files still being written.
    """
    folders = files.folders()
    if not folders and not files.has_folder():
        return [], (f"there is no landing folder {spell(files.root)}, so no file was read",)
    entries, messages = [], _strays(files)
    for folder in folders:
        if folder.startswith((".", "_")):
            continue
        if not is_topic(folder, topics):
            messages.append(f"folder {spell(folder)} matches none of the topics {list(topics)} and is not read")
            continue
        entries += [
            e for e in files.list_files(folder, recursive=True) if not _is_unfinished(e.path.rsplit("/", 1)[-1])
        ]
    messages += [f"{path} is not read: its name is not UTF-8; rename it" for path in files.unreadable]
    return sorted(entries, key=lambda entry: (entry.modified_ns, entry.path)), tuple(messages)


def _strays(files: Filesystem) -> list[str]:
    """A message about files beside the topics' folders: nothing says of which topic they are."""
    names = [entry.path.rsplit("/", 1)[-1] for entry in files.list_files()]
    strays = [spell(name) for name in names if not _is_unfinished(name)]
    if not strays:
        return []
    more = f" and {len(strays) - _MOST_NAMED} more" if len(strays) > _MOST_NAMED else ""
    named = f"{', '.join(strays[:_MOST_NAMED])}{more}"
    return [f"{len(strays)} files beside the topics' folders are not read ({named}); move each into its topic's folder"]


def plan_landing(
    files: Filesystem,
    entries: list[FileEntry],
    ledger: Mapping[str, LedgerEntry],
    *,
    max_records: int,
    truncated_before_ns: int,
    max_bytes: int | None = None,
    scan: Scan = scan_here,
) -> LandingPlan:
    """Decide what to read: whole lines, oldest file first, at most ``max_records`` of them.

    A last line without its end of line is taken when it is a whole JSON object, else awaited; when its file has not
    changed since ``truncated_before_ns`` (nanoseconds since 1970) it goes to quarantine. ``max_bytes`` is about how
    much is read at most, if it is not what so many records may have.
    """
    plan = PlanBuilder(
        ledger=ledger,
        left=max_records,
        left_bytes=max_bytes or max_records * RECORD_BYTES,
        truncated_before_ns=truncated_before_ns,
    )
    changed = [entry for entry in entries if not plan.has_same(entry)]
    wave = _Wave()
    while changed and plan.has_room():
        orders, done = wave.first_of([plan.order(entry) for entry in changed], plan.left), 0
        for order, first_found in zip(orders, scan(files, orders), strict=True):
            if not plan.has_room():
                break
            entry, found = order.entry, first_found
            if plan.is_too_much(entry, found):
                (found,) = scan(files, [plan.order(entry)])
            plan.add(entry, found)
            wave.note(order, found)
            done += 1
        changed = changed[done:]
    for entry in changed:
        plan.leave(entry)
    return plan.build(max_records)


class _Wave:
    """What is looked through side by side: about as much as has the records that are wanted, by the files so far.

    All that waits would be looked through by each run of a backlog, of which it takes a part.
    """

    def __init__(self) -> None:
        self._bytes = self._records = 0

    def note(self, order: ScanOrder, found: FileScan) -> None:
        """A file was looked through."""
        self._bytes += order.weight
        self._records += found.records

    def first_of(self, orders: list[ScanOrder], records: int) -> list[ScanOrder]:
        """The first file, and more while they are small, for so many records."""
        each = self._bytes / self._records if self._records else _RECORD_BYTES_STORED
        most = min(_WAVE_BYTES, max(_LEAST_WAVE_BYTES, records * each))
        weight = 0
        for number, order in enumerate(orders):
            weight += order.weight
            if number and weight > most:
                return orders[:number]
        return orders


def find_oldest_unread(
    files: Filesystem,
    entries: list[FileEntry],
    ledger: Mapping[str, LedgerEntry],
    *,
    max_records: int,
    truncated_before_ns: int,
) -> FileEntry | None:
    """The first file of those that :func:`plan_landing` would read something of; None when there is nothing to read.

    No more of each is looked at than ``_LOOK_BYTES``: one that goes on behind them waits.
    """
    for entry in entries:
        if (before := ledger.get(entry.path)) and before.is_of(entry):
            continue  # a plan begins by a look at the whole ledger
        plan = plan_landing(
            files,
            [entry],
            ledger,
            max_records=max_records,
            max_bytes=_LOOK_BYTES,
            truncated_before_ns=truncated_before_ns,
        )
        if plan.chunks or plan.broken:
            return entry
    return None


def _is_unfinished(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith(".tmp")
