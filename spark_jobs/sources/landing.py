"""Landing files to a plan: which bytes of which files this run reads.

A file is known by its content, not by its name: the ledger holds, for each path, how many bytes were read and their
hash. Grown: the same beginning, more bytes. Renamed or copied: the content of another entry. Replaced: another
beginning, so it is read from its start. Bytes count after decompression. Rows have identities of their own, so reading
something twice would cost time and change nothing; the ledger saves that time and makes "nothing new" visible.
"""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from spark_jobs.contracts.names import spell
from spark_jobs.contracts.rejections import Reason
from spark_jobs.sources.file_scan import UNSETTLED, Chunk, FileScan, LedgerEntry, scan_file
from spark_jobs.sources.topics import is_topic
from spark_jobs.storage.filesystem import FileEntry, Filesystem

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenPart:
    """Bytes of a file that will never become a line: kept whole in quarantine."""

    path: str
    offset: int
    raw: bytes
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingPlan:
    """What one run reads, and the ledger once it is committed."""

    chunks: tuple[Chunk, ...]
    broken: tuple[BrokenPart, ...]
    ledger: Mapping[str, LedgerEntry]
    records: int
    has_more: bool
    messages: tuple[str, ...]


def pack_ledger(ledger: Mapping[str, LedgerEntry]) -> str:
    """The ledger as short text for commit metadata."""
    content = json.dumps({path: list(asdict(entry).values()) for path, entry in sorted(ledger.items())})
    return base64.b64encode(zlib.compress(content.encode(), 9)).decode()


def unpack_ledger(text: str | None) -> dict[str, LedgerEntry]:
    """Read what :func:`pack_ledger` wrote; empty for None."""
    if not text:
        return {}
    content = json.loads(zlib.decompress(base64.b64decode(text)))
    names = ("size", "modified_ns", "consumed", "digest")
    return {path: LedgerEntry(**dict(zip(names, values, strict=True))) for path, values in content.items()}


def list_landing(files: Filesystem, topics: tuple[str, ...]) -> tuple[list[FileEntry], tuple[str, ...]]:
    """Files of the topics' folders by time of arrival, and a message for each folder or file that is not read.

    Names that begin with ``.`` or ``_`` and ``*.tmp`` are files still being written.
    """
    entries, messages = [], []
    for folder in files.folders():
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


def plan_landing(
    files: Filesystem,
    entries: list[FileEntry],
    ledger: Mapping[str, LedgerEntry],
    *,
    max_records: int,
    truncated_before_ns: int,
) -> LandingPlan:
    """Decide what to read: whole lines, oldest file first, at most ``max_records`` of them.

    A last line without its end of line is taken when it is a whole JSON object, else awaited; when its file has not
    changed since ``truncated_before_ns`` (nanoseconds since 1970) it goes to quarantine.
    """
    plan = _PlanBuilder(ledger=ledger, left=max_records, truncated_before_ns=truncated_before_ns)
    for entry in entries:
        before = ledger.get(entry.path)
        if before and (before.size, before.modified_ns) == (entry.size, entry.modified_ns):
            plan.keep(entry.path, before)
        elif plan.left <= 0:
            plan.has_more = True
            if before:
                plan.keep(entry.path, before)
        else:
            plan.add(entry, scan_file(files, entry, before, limit=plan.left))
    return plan.build(max_records)


def find_oldest_unread(
    files: Filesystem,
    entries: list[FileEntry],
    ledger: Mapping[str, LedgerEntry],
    *,
    max_records: int,
    truncated_before_ns: int,
) -> FileEntry | None:
    """The first file of those that :func:`plan_landing` would read something of; None when there is nothing to read."""
    for entry in entries:
        plan = plan_landing(files, [entry], ledger, max_records=max_records, truncated_before_ns=truncated_before_ns)
        if plan.chunks or plan.broken:
            return entry
    return None


class _PlanBuilder:
    def __init__(self, *, ledger: Mapping[str, LedgerEntry], left: int, truncated_before_ns: int) -> None:
        self.left, self.has_more = left, False
        self._truncated_before_ns = truncated_before_ns
        self._known = {(entry.consumed, entry.digest) for entry in ledger.values() if entry.consumed}
        self._before = ledger
        self._ledger: dict[str, LedgerEntry] = {}
        self._chunks: list[Chunk] = []
        self._broken: list[BrokenPart] = []
        self._messages: list[str] = []

    def keep(self, path: str, entry: LedgerEntry) -> None:
        self._ledger[path] = entry

    def add(self, entry: FileEntry, scan: FileScan) -> None:
        is_settled = not scan.is_cut and not scan.rest and not scan.is_open
        if entry.path not in self._before and is_settled and (scan.consumed, scan.digest) in self._known:
            self._messages.append(f"{spell(entry.path)}: content already read under another name")
        else:
            self._chunks += scan.chunks
            self.left -= scan.records
        self.has_more |= scan.is_cut
        if scan.was_replaced:
            self._messages.append(f"{spell(entry.path)}: replaced by other content, read from its start")
        if not is_settled and not scan.is_cut:
            is_settled = self._judge_rest(entry, scan)
        if is_settled:
            self._known.add((scan.consumed, scan.digest))
        self._ledger[entry.path] = LedgerEntry(
            size=entry.size if is_settled else UNSETTLED,
            modified_ns=entry.modified_ns if is_settled else UNSETTLED,
            consumed=scan.consumed,
            digest=scan.digest,
        )

    def _judge_rest(self, entry: FileEntry, scan: FileScan) -> bool:
        if not scan.damage and entry.modified_ns >= self._truncated_before_ns:
            self._messages.append(f"{spell(entry.path)}: not complete after byte {scan.consumed}, left for a later run")
            return False
        reason = Reason.BAD_FILE if scan.damage else Reason.TRUNCATED
        detail = scan.damage or "the file ends in the middle of a line"
        raw = scan.rest or entry.path.encode()
        self._broken.append(BrokenPart(path=entry.path, offset=scan.consumed, raw=raw, reason=reason, detail=detail))
        return True

    def build(self, max_records: int) -> LandingPlan:
        return LandingPlan(
            chunks=tuple(self._chunks),
            broken=tuple(self._broken),
            ledger=self._ledger,
            records=max_records - self.left,
            has_more=self.has_more,
            messages=tuple(self._messages),
        )


def _is_unfinished(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith(".tmp")
