"""One pass over what is new in a landing file: where its whole lines end and what its bytes hash to.

A pass takes time by the bytes that are new and memory for one record, whatever is in the file. A line of more than
``MAX_KEPT_BYTES`` is none that is awaited: what there is of it is taken as one record, and what comes of it later as
another one, so that it is not read twice and holds nothing up.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.sources import content_hash
from spark_jobs.sources.content_hash import ContentHash, first_block_fits, is_by_blocks, resume_at
from spark_jobs.sources.file_blocks import WHOLE, CutOffError, DamagedError, Member, iter_members, iter_range
from spark_jobs.sources.kept_bytes import MAX_KEPT_BYTES
from spark_jobs.storage.filesystem import FileEntry, Filesystem

CHUNK_BYTES = 4 * 1024 * 1024
UNSETTLED = -1
"""Size and time in the ledger of a file that has to be looked at again even if it does not change."""
MOST_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A file as last seen, how many of its bytes were read (after decompression), and their hash.

    ``stored`` and ``start`` are a gzip member from which it can be read on; ``is_inside`` when what was read ends
    within a line that is too large.
    """

    size: int
    modified_ns: int
    consumed: int
    digest: str
    stored: int = 0
    start: int = 0
    is_inside: bool = False

    def is_of(self, entry: FileEntry) -> bool:
        """True when the file is as it was when all of it was read."""
        return (self.size, self.modified_ns) == (entry.size, entry.modified_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Whole lines of one file, bytes ``start`` to ``end`` after decompression; ``member`` begins there or before.

    The first line of one that ``is_inside`` is the rest of a line that was too large.
    """

    path: str
    start: int
    end: int
    member: Member = WHOLE
    is_inside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileScan:
    """What a pass found.

    ``consumed`` bytes are whole lines, ``digest`` is their hash, ``plain_digest`` their SHA-256 where that was wanted;
    ``rest`` is how many bytes follow without an end of line; ``is_cut`` when a limit ended the pass; ``is_open`` when a
    gzip file ends too early; ``damage`` says why it cannot go on.
    """

    chunks: tuple[Chunk, ...]
    records: int
    read_from: int
    consumed: int
    digest: str
    plain_digest: str = ""
    rest: int = 0
    member: Member = WHOLE
    is_inside: bool = False
    is_cut: bool = False
    is_open: bool = False
    was_replaced: bool = False
    damage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOrder:
    """A file to be looked through: up to ``records`` lines and about ``most_bytes`` after what was read ``before``.

    ``has_old``: the ledger has hashes of an earlier release, so that those of whole files are wanted too.
    """

    entry: FileEntry
    before: LedgerEntry | None
    records: int
    most_bytes: int = MOST_BYTES
    has_old: bool = False

    @property
    def weight(self) -> int:
        """How many bytes are new, as stored; of a packed file about."""
        size, read = self.entry.size, self.before.consumed if self.before else 0
        return size - read if read <= size else size


def scan_file(files: Filesystem, order: ScanOrder) -> FileScan:
    """Find the whole lines that are new; from the start if what was read is not the beginning of the file any more."""
    before = order.before if order.before and order.before.consumed else None
    with files.open(order.entry.path) as file:
        known = _recognise(file, before) if before else ContentHash()
        scanner = _Scanner(order, before if known else None, known or ContentHash())
        damage, is_open = "", False
        try:
            for member, block in iter_members(file, scanner.consumed, scanner.member):
                if not scanner.take(block, member):
                    break
        except CutOffError:
            is_open = True
        except DamagedError as error:
            damage = f"gzip damaged: {error}"
    return replace(scanner.result(damage=damage, is_open=is_open), was_replaced=known is None)


def _recognise(file: Any, before: LedgerEntry) -> ContentHash | None:
    """The hash of what was read, to be continued; None when the file does not begin with it."""
    plain = None if is_by_blocks(before.digest, before.consumed) else hashlib.sha256()
    resumed = 0 if plain else resume_at(before.consumed)
    known = ContentHash() if plain else ContentHash.resume(before.digest)
    left = before.consumed - resumed
    try:
        if resumed and not first_block_fits(before.digest, b"".join(iter_range(file, 0, content_hash.HASH_BLOCK))):
            return None
        for head in iter_range(file, resumed, before.consumed, Member(stored=before.stored, start=before.start)):
            known.update(head)
            if plain:
                plain.update(head)
            left -= len(head)
    except (CutOffError, DamagedError):
        return None
    found = plain.hexdigest() if plain else known.text
    return known if not left and found == before.digest else None


class _Scanner:
    def __init__(self, order: ScanOrder, before: LedgerEntry | None, known: ContentHash) -> None:
        self._order = order
        self.consumed = self._position = self._from = self._chunk_start = before.consumed if before else 0
        self.member = Member(stored=before.stored, start=before.start) if before else WHOLE
        self._members, self._chunk_member = deque([self.member]), self.member
        self._is_packed = False
        self._seen, self._known = known, known.copy()
        self._plain = hashlib.sha256() if order.has_old and not before else None
        self._plain_known = self._plain and self._plain.copy()
        self._chunks: list[Chunk] = []
        self._records = 0
        self._rest = bytearray()
        self._is_inside = self._starts_inside = bool(before and before.is_inside)
        self._is_counted = False
        self._is_cut = False

    def take(self, block: bytes, member: Member | None) -> bool:
        """Take the next block, which is not empty; False when no more are wanted."""
        if self._records >= self._order.records or self._is_far:
            self._is_cut = True
            return False
        self._note_member(member)
        wanted = self._order.records - self._records + self._is_counted
        end, lines = block.rfind(b"\n") + 1, block.count(b"\n")
        if lines > wanted:
            end, lines, self._is_cut = _nth_line_end(block, wanted), wanted, True
        if end:
            self._records += lines - self._is_counted
            self._is_inside = self._is_counted = False
            self._rest.clear()
            self._consume(block[:end])
            self._close_chunk(CHUNK_BYTES)
        if not self._is_cut:
            self._hold(block[end:])
        return not self._is_cut

    @property
    def _is_far(self) -> bool:
        """True when enough was read, and of a line that is not too large more has to be read to take anything."""
        return self.consumed - self._from >= self._order.most_bytes

    def _hold(self, rest: bytes) -> None:
        """What follows the last end of line: awaited, or taken at once when it is too large already."""
        if not self._is_inside:
            self._rest += rest
            self._see(rest)
            if len(self._rest) <= MAX_KEPT_BYTES:
                return
            self._rest.clear()
            if self._records >= self._order.records:
                self._is_cut = True
                return
            self._is_inside, rest = True, b""
        if not self._is_counted:
            self._is_counted = True
            self._records += 1
        self._consume(rest)

    def _see(self, content: bytes) -> None:
        self._seen.update(content)
        if self._plain:
            self._plain.update(content)
        self._position += len(content)

    def _consume(self, content: bytes) -> None:
        """Take everything that was seen, and ``content``."""
        self._see(content)
        self._known, self.consumed = self._seen.copy(), self._position
        self._plain_known = self._plain and self._plain.copy()

    def _note_member(self, member: Member | None) -> None:
        self._is_packed |= member is not None
        if member and member != self._members[-1]:
            self._members.append(member)
        while len(self._members) > 1 and self._members[1].start <= resume_at(self.consumed):
            self._members.popleft()

    def _member_at(self, place: int) -> Member:
        """The last member that begins there or before."""
        return next(member for member in reversed(self._members) if member.start <= place)

    def _close_chunk(self, least: int = 1) -> None:
        """End a chunk that is long enough; of a packed file only where another one can be begun."""
        if self.consumed - self._chunk_start < least:
            return
        is_near = self.consumed - self._member_at(self.consumed).start <= CHUNK_BYTES
        if least > 1 and self._is_packed and not is_near:
            return
        chunk = Chunk(
            path=self._order.entry.path,
            start=self._chunk_start,
            end=self.consumed,
            member=self._chunk_member,
            is_inside=self._starts_inside,
        )
        self._chunks.append(chunk)
        self._chunk_start, self._chunk_member = self.consumed, self._member_at(self.consumed)
        self._starts_inside = False

    def result(self, *, damage: str, is_open: bool) -> FileScan:
        is_full = self._is_cut or self._records >= self._order.records
        if self._rest and not damage and not is_open and not is_full and is_whole_object(bytes(self._rest)):
            # No part of a JSON object is itself one: this line is complete, only its end of line is missing.
            self._records += 1
            self._rest.clear()
            self._consume(b"")
        self._close_chunk()
        return FileScan(
            chunks=tuple(self._chunks),
            records=self._records,
            read_from=self._from,
            consumed=self.consumed,
            digest=self._known.text,
            plain_digest=self._plain_known.hexdigest() if self._plain_known else "",
            rest=len(self._rest),
            member=self._member_at(resume_at(self.consumed)),
            is_inside=self._is_inside,
            is_cut=self._is_cut or bool(self._rest and is_full),
            is_open=is_open,
            damage=damage,
        )


def scan_here(files: Filesystem, orders: Sequence[ScanOrder]) -> list[FileScan]:
    """Look the files through in this process, one after another."""
    return [scan_file(files, order) for order in orders]


def _nth_line_end(content: bytes, count: int) -> int:
    position = 0
    for _ in range(count):
        position = content.index(b"\n", position) + 1
    return position


def is_whole_object(line: bytes) -> bool:
    """True for a line that is complete without its end: a JSON object, or nothing."""
    if not line.strip():
        return True
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
