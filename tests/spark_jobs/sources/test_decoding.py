"""Records to rows, in several files of several chunks: every line is one row, at its own place, and is found by it.

Blocks, chunks and batches are some lines long here, so that ends of all of them lie inside of everything.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import IGNORED, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.sources import decoding, file_blocks, file_scan
from spark_jobs.sources.decoding import decode_chunks, decode_records, read_lines
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.landing import LandingPlan, list_landing, plan_landing
from spark_jobs.storage.filesystem import Filesystem
from tests.support.broken import BROKEN, good
from tests.support.envelopes import line
from tests.support.in_process import Frame, Session, rows_of

SPEC = load_lake_spec(Settings().lake_spec)
SESSION: Any = Session()
BROKEN_LINES = [make(1) for kind, (_, make) in BROKEN.items() if kind in ("not json", "key is text", "unknown op")]
NO_RECORD = [b"", b"null", b"\r", b'{"op":"m"}']
records = st.sampled_from([*(line(good(key)) for key in range(4)), *BROKEN_LINES, *NO_RECORD])


@dataclass(frozen=True)
class Landed:
    """A file: whole lines, what follows them without an end of line, and whether it is packed."""

    lines: Sequence[bytes]
    rest: bytes
    is_packed: bool

    @property
    def content(self) -> bytes:
        return b"".join(text + b"\n" for text in self.lines) + self.rest

    def places(self) -> Iterator[tuple[int, bytes]]:
        """Where each line begins, by adding up; what is left over is no line."""
        at = 0
        for text in self.lines:
            yield at, text
            at += len(text) + 1


files = st.builds(Landed, st.lists(records, max_size=9), st.sampled_from((b"", b'{"op"')), st.booleans())
folders = st.lists(files, min_size=1, max_size=3)


@contextmanager
def planned(landed: Sequence[Landed]) -> Iterator[tuple[str, LandingPlan, dict[str, Landed]]]:
    """The files in a folder, and the plan of a run that gives up what is not complete."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", 200)
        patch.setattr(file_scan, "CHUNK_BYTES", 500)
        patch.setattr(decoding, "BATCH_ROWS", 3)
        by_path = {}
        for number, file in enumerate(landed):
            path = Path(folder, "SALES", f"{number}.jsonl")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress(file.content) if file.is_packed else file.content)
            os.utime(path, ns=(number + 1, number + 1))
            by_path[str(path)] = file
        entries, _ = list_landing(Filesystem(folder), ("SALES",))
        plan = plan_landing(Filesystem(folder), entries, {}, max_records=1000, truncated_before_ns=10**18)
        copies = {message.partition(":")[0] for message in plan.messages if "already read" in message}
        yield folder, plan, {path: file for path, file in by_path.items() if path not in copies}


def fate(raw: bytes) -> str:
    """The event that a record is, or why it is none."""
    try:
        event = EnvelopeDecoder(SPEC).decode(raw)
    except RejectedRecordError as error:
        return str(error.reason)
    return event.event_id if event else IGNORED


def fate_of(row: Mapping[str, Any]) -> str:
    return str(row["reason"] or row["event_id"])


@settings(max_examples=50)
@given(folders)
def test_every_line_is_one_row_at_its_own_place(landed: list[Landed]):
    with planned(landed) as (folder, plan, read):
        rows = rows_of(decode_chunks(SESSION, SPEC, folder, plan.chunks, plan.broken))
        assert len(rows) == plan.records + len(plan.broken)
    expected = Counter((path, at, fate(text)) for path, file in read.items() for at, text in file.places())
    for path, file in read.items():
        if file.rest:
            expected[path, len(file.content) - len(file.rest), "truncated"] += 1
    assert Counter((row["read_from"], row["read_offset"], fate_of(row)) for row in rows) == expected
    for row in rows:
        file = read[row["read_from"]]
        if row["reason"] not in (None, IGNORED):
            assert file.content[row["read_offset"] :].startswith(row["raw"])
            assert row["raw"] in (*file.lines, file.rest)


@settings(max_examples=50)
@given(folders, st.data())
def test_the_bytes_of_a_record_are_found_by_file_and_place(landed: list[Landed], data: st.DataObject):
    """Of any choice of places, among them places that another file has too, and every place of a file."""
    with planned(landed) as (folder, plan, read):
        there = {path: dict(file.places()) for path, file in read.items()}
        wanted = {
            path: frozenset(data.draw(st.sets(st.sampled_from([*lines])) | st.just(set(lines))))
            for path, lines in there.items()
            if lines
        }
        found = rows_of(read_lines(SESSION, folder, plan.chunks, wanted))
    expected = Counter((path, at, there[path][at]) for path, places in wanted.items() for at in places)
    assert Counter((row["read_from"], row["read_offset"], row["raw"]) for row in found) == expected


@given(st.lists(st.tuples(records, st.sampled_from("ab"), st.integers(0, 2)), max_size=9, unique_by=lambda r: r[0]))
def test_a_record_that_is_decoded_once_more_keeps_its_hash_and_its_place(kept: list[tuple[bytes, str, int]]):
    fields = [("record_hash", pa.string()), ("read_from", pa.string()), ("read_offset", pa.int64())]
    schema = pa.schema([*fields, ("raw", pa.binary()), ("state", pa.string())])
    held: list[dict[str, Any]] = [
        {"record_hash": hashlib.sha256(raw).hexdigest(), "read_from": path, "read_offset": at, "raw": raw}
        for raw, path, at in kept
    ]
    frame: Any = Frame.of(held[::2], held[1::2], schema=schema)
    rows = rows_of(decode_records(SPEC, frame))
    expected = {(row["record_hash"], row["read_from"], row["read_offset"], fate(row["raw"])) for row in held}
    assert {(row["__record"], row["read_from"], row["read_offset"], fate_of(row)) for row in rows} == expected
    assert len(rows) == len(held)
