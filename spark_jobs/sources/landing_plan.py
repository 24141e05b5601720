"""The plan of one run over landing files as it grows: file by file, until there is no more room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.contracts.names import spell
from spark_jobs.contracts.rejections import Reason
from spark_jobs.sources.content_hash import is_by_blocks
from spark_jobs.sources.file_blocks import Member
from spark_jobs.sources.file_scan import UNSETTLED, Chunk, FileScan, LedgerEntry, ScanOrder
from spark_jobs.storage.filesystem import FileEntry

_SLACK_BYTES = 8 * 1024 * 1024
"""A file is read to the end of a line and of a block, so some more than there is room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenPart:
    """Bytes of a file that will never become a line, ``size`` of them from ``offset``: kept whole in quarantine.

    Of a damaged file without such bytes they are what cannot be decompressed. Executors read them.
    """

    path: str
    offset: int
    size: int
    member: Member
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


class PlanBuilder:
    """Room for ``left`` records and ``left_bytes``, and what it was used for."""

    def __init__(
        self, *, ledger: Mapping[str, LedgerEntry], left: int, left_bytes: int, truncated_before_ns: int
    ) -> None:
        self.left, self._left_bytes, self.has_more = left, left_bytes, False
        self._truncated_before_ns = truncated_before_ns
        read = [entry for entry in ledger.values() if entry.consumed]
        self._known = {(entry.consumed, entry.digest) for entry in read}
        self._has_old = not all(is_by_blocks(entry.digest, entry.consumed) for entry in read)
        self._before = ledger
        self._ledger: dict[str, LedgerEntry] = {}
        self._chunks: list[Chunk] = []
        self._broken: list[BrokenPart] = []
        self._messages: list[str] = []

    def has_room(self) -> bool:
        """False when as much is read as a run may; it changes with each file."""
        return self.left > 0 and self._left_bytes > 0

    def has_same(self, entry: FileEntry) -> bool:
        """True for a file that is as it was when it was read; it is kept in the ledger."""
        before = self._before.get(entry.path)
        if before is None or not before.is_of(entry):
            return False
        self._ledger[entry.path] = before
        return True

    def order(self, entry: FileEntry) -> ScanOrder:
        """To look the file through as far as there is room."""
        return ScanOrder(
            entry=entry,
            before=self._before.get(entry.path),
            records=self.left,
            most_bytes=self._left_bytes,
            has_old=self._has_old,
        )

    def is_too_much(self, entry: FileEntry, scan: FileScan) -> bool:
        """True when another file has taken up the room meanwhile, and less of this one can be read."""
        is_over = scan.records > self.left or scan.consumed - scan.read_from > self._left_bytes + _SLACK_BYTES
        return is_over and not self._is_copy(entry, scan)

    def leave(self, entry: FileEntry) -> None:
        """Leave a file for the next run."""
        self.has_more = True
        if before := self._before.get(entry.path):
            self._ledger[entry.path] = before

    def add(self, entry: FileEntry, scan: FileScan) -> None:
        """Take what was found in a file."""
        is_settled = _is_settled(scan)
        if self._is_copy(entry, scan):
            self._messages.append(f"{spell(entry.path)}: content already read under another name")
        else:
            self._chunks += scan.chunks
            self.left -= scan.records
            self._left_bytes -= scan.consumed - scan.read_from
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
            stored=scan.member.stored,
            start=scan.member.start,
            is_inside=scan.is_inside,
        )

    def _is_copy(self, entry: FileEntry, scan: FileScan) -> bool:
        """True for a file that was not read under its name, and whose content was read under another one."""
        digests = {scan.digest, scan.plain_digest}
        is_known = any((scan.consumed, digest) in self._known for digest in digests)
        return entry.path not in self._before and _is_settled(scan) and is_known

    def _judge_rest(self, entry: FileEntry, scan: FileScan) -> bool:
        if not scan.damage and entry.modified_ns >= self._truncated_before_ns:
            self._messages.append(f"{spell(entry.path)}: not complete after byte {scan.consumed}, left for a later run")
            return False
        part = BrokenPart(
            path=entry.path,
            offset=scan.consumed,
            size=scan.rest,
            member=scan.member,
            reason=Reason.BAD_FILE if scan.damage else Reason.TRUNCATED,
            detail=scan.damage or "the file ends in the middle of a line",
        )
        self._broken.append(part)
        return True

    def build(self, max_records: int) -> LandingPlan:
        """The plan."""
        return LandingPlan(
            chunks=tuple(self._chunks),
            broken=tuple(self._broken),
            ledger=self._ledger,
            records=max_records - self.left,
            has_more=self.has_more,
            messages=tuple(self._messages),
        )


def _is_settled(scan: FileScan) -> bool:
    """True when all of the file was looked at and nothing is left to be awaited or given up."""
    return not (scan.is_cut or scan.rest or scan.is_open or scan.damage)
