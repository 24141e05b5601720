"""A person removed from one landing file: what was ingested of it, in place, and nothing else; without Spark."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.people import Person, PersonSpec
from spark_jobs.sources import erasure, file_blocks
from spark_jobs.sources.content_hash import hash_of
from spark_jobs.sources.erasure import (
    FilePart,
    edit_file,
    edit_files,
    edited_ledger,
    find_in_file,
    find_in_files,
    parts_of,
    problems_of,
    redact_quarantine,
)
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.redaction import Redactor
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.filesystem import FileEntry, Filesystem
from tests.support.envelopes import line, sqlserver
from tests.support.in_process import Frame, rows_of

SPEC = load_lake_spec(Settings().lake_spec)
PERSON = Person(spec=PersonSpec(role="agent", key="agent_id", columns=("agent_name",)), id="17", names=("Ann Quux",))
REDACTOR = Redactor.build(SPEC, PERSON)
HERS = line(sqlserver("c", {"SaleId": 1, "AgentId": 17, "AgentName": "Ann Quux"}, 1))
OTHER = line(sqlserver("c", {"SaleId": 2, "AgentId": 18, "AgentName": "Bob"}, 2))
WITHOUT = HERS.replace(b'"AgentId":17', b'"AgentId":0 ').replace(b'"Ann Quux"', b"null".ljust(10))
BROKEN = b'{"AgentName": "Ann Quux"'

records = st.lists(st.sampled_from((HERS, OTHER, b"", BROKEN)), max_size=8)


def wanted(record: bytes) -> bytes:
    """The oracle."""
    return {HERS: WITHOUT, BROKEN: b" " * len(BROKEN)}.get(record, record)


@contextmanager
def landed(content: bytes, *, is_packed: bool, block_bytes: int = 2**20) -> Iterator[tuple[Filesystem, Path]]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", block_bytes)
        path = Path(folder, "t", "file")
        path.parent.mkdir()
        path.write_bytes(gzip.compress(content) if is_packed else content)
        yield Filesystem(folder), path


def read(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


@given(
    taken=records,
    later=records,
    last=st.sampled_from((b"", HERS, BROKEN)),
    is_packed=st.booleans(),
    block_bytes=st.sampled_from((7, 100, 700, 2**20)),
)
def test_what_was_taken_in_is_edited_and_what_comes_later_is_not(
    taken: list[bytes], later: list[bytes], last: bytes, is_packed: bool, block_bytes: int
):
    """Wherever blocks of the file end: in a record, between two, behind all."""
    head = b"".join(record + b"\n" for record in taken)
    tail = b"".join(record + b"\n" for record in later) + last
    edited = b"".join(wanted(record) + b"\n" for record in taken)
    with landed(head + tail, is_packed=is_packed, block_bytes=block_bytes) as (files, path):
        part = FilePart(path=str(path), is_settled=False, consumed=len(head), read_to=len(head))
        found = find_in_file(files, part, REDACTOR)
        theirs = [record for record in (*taken, *later) if record in (HERS, BROKEN)]
        assert found.records == len(theirs) + (last == HERS)
        assert found.taken_in == sum(record in (HERS, BROKEN) for record in taken)
        assert found.digest == hashlib.sha256(edited).hexdigest()
        modified_ns = path.stat().st_mtime_ns
        assert edit_file(files, part, REDACTOR) == found
        assert read(path) == edited + tail
        assert is_packed or path.stat().st_mtime_ns == modified_ns
        again = edit_file(files, part, REDACTOR)
        assert (again.taken_in, again.digest) == (0, found.digest)
        assert read(path) == edited + tail


def test_the_end_of_a_file_that_ingest_gave_up_is_edited_too():
    content = OTHER + b"\n" + BROKEN
    with landed(content, is_packed=False) as (files, path):
        entry = FileEntry(path=str(path), size=len(content), modified_ns=5)
        known = LedgerEntry(size=len(content), modified_ns=5, consumed=len(OTHER) + 1, digest="")
        (part,) = parts_of([entry], {entry.path: known}, settled_before_ns=6)
        assert edit_file(files, part, REDACTOR).taken_in == 1
        assert read(path) == OTHER + b"\n" + b" " * len(BROKEN)
        (open_part,) = parts_of([entry], {entry.path: known}, settled_before_ns=5)
        assert find_in_file(files, open_part, REDACTOR).records == 0, "it may go on"


def test_what_was_not_ingested_is_found_and_left():
    with landed(HERS + b"\n", is_packed=False) as (files, path):
        (part,) = parts_of([FileEntry(path=str(path), size=1, modified_ns=1)], {}, settled_before_ns=9)
        found = edit_file(files, part, REDACTOR)
        assert (found.records, found.taken_in) == (1, 0)
        assert read(path) == HERS + b"\n"
        assert edited_ledger({}, [found]) == {}


QUARANTINE = pa.schema(
    [*((name, pa.string()) for name in ("record_hash", "detail", "history", "became")), ("raw", pa.binary())]
)
raws = st.sampled_from((HERS, OTHER, BROKEN, gzip.compress(HERS, mtime=0), gzip.compress(OTHER, mtime=0), None))
words = st.sampled_from(("Ann Quux wrote", "by Ann Quux", "Bob", "", "Ann"))
attempts = st.fixed_dictionaries({"by": words, "because": words, "outcome": st.just("fine")})


@settings(max_examples=40)
@given(st.lists(st.tuples(raws, words, st.none() | st.lists(attempts, max_size=3)), max_size=8))
def test_kept_records_lose_the_person_and_nothing_else(kept: list[tuple[bytes | None, str, Any]]):
    """The bytes, the detail, and every word of every attempt; rows in which nothing changes are not written."""
    rows: list[dict[str, Any]] = [
        {"record_hash": f"{number}", "raw": raw, "detail": detail, "became": "x"}
        | {"history": None if history is None else json.dumps(history, separators=(",", ":"))}
        for number, (raw, detail, history) in enumerate(kept)
    ]
    frame: Any = Frame.of(rows[::2], rows[1::2], schema=QUARANTINE)
    found = {row["record_hash"]: row for row in rows_of(redact_quarantine(frame, SPEC, PERSON))}
    for row in rows:
        raw = row["raw"] or b""
        expected = {**row, "raw": b"" if raw == gzip.compress(HERS, mtime=0) else wanted(raw)}
        expected["detail"] = "" if "Ann Quux" in (row["detail"] or "") else row["detail"]
        if row["history"] and "Ann Quux" in row["history"]:
            tried = json.loads(row["history"])
            hushed = [{k: "" if "Ann Quux" in text else text for k, text in each.items()} for each in tried]
            expected["history"] = json.dumps(hushed, separators=(",", ":"))
        assert found.get(row["record_hash"]) == (expected if expected != {**row, "raw": raw} else None)


@settings(max_examples=40)
@given(
    before=st.integers(0, 900),
    after=st.integers(0, 900),
    is_packed=st.booleans(),
    block_bytes=st.sampled_from((50, 300)),
)
def test_a_name_in_a_line_that_is_too_large_is_gone_wherever_it_is(
    before: int, after: int, is_packed: bool, block_bytes: int
):
    """Such a line is looked through piece by piece; what has the name is blank, and every other line as it was."""
    large = b"x" * before + b'"Ann Quux"' + b"y" * after
    content = b"\n".join([OTHER, large, OTHER, b"x" * 2000, OTHER, b""])
    with (
        landed(content, is_packed=is_packed, block_bytes=block_bytes) as (files, path),
        pytest.MonkeyPatch.context() as p,
    ):
        p.setattr(erasure, "MAX_KEPT_BYTES", 400)
        p.setattr(erasure, "_MOST_NAME", 100)
        part = FilePart(path=str(path), is_settled=True, consumed=len(content), read_to=len(content))
        found = edit_file(files, part, REDACTOR)
        edited = read(path).split(b"\n")
        assert found.taken_in >= 1
        assert find_in_file(files, part, REDACTOR).records == 0
        assert hash_of([read(path)]) == found.digest
    assert [len(text) for text in edited] == [len(text) for text in content.split(b"\n")]
    assert [edited[at] for at in (0, 2, 3, 4)] == [OTHER, OTHER, b"x" * 2000, OTHER]
    assert b"Ann Quux" not in edited[1]


@pytest.mark.parametrize(("size", "problem"), [(-9, "ends too early"), (0, "is damaged")])
def test_a_file_that_cannot_be_read_to_its_end_says_so_and_is_not_changed(size: int, problem: str):
    lines = b"".join(HERS + b"%d\n" % number for number in range(3_000))  # more than one block, so some is readable
    with landed(lines + os.urandom(2_000_000), is_packed=True) as (files, path):
        stored = bytearray(path.read_bytes()[: size or None])
        if not size:
            stored[-500_000:-400_000] = bytes(100_000)
        path.write_bytes(stored)
        part = FilePart(path=str(path), is_settled=True, consumed=len(lines), read_to=len(lines))
        found = edit_file(files, part, REDACTOR)
        assert problem in found.problem
        assert found.taken_in == 3_000
        assert path.read_bytes() == stored


def test_without_files_nothing_is_started():
    no_spark: Any = None
    assert find_in_files(no_spark, SPEC, PERSON, "/nowhere", []) == []
    assert edit_files(no_spark, SPEC, PERSON, "/nowhere", []) == []


def test_a_packed_file_that_changes_while_it_is_edited_keeps_what_came():
    """Written whole, it would lose what another writer appended meanwhile; the next run finds both."""
    with landed(HERS + b"\n", is_packed=True) as (files, path):
        opened = files.open

        def open_and_append(absolute_path: str) -> Any:
            with path.open("ab") as file:
                file.write(gzip.compress(OTHER + b"\n", mtime=0))
            os.utime(path, ns=(1, 1))
            return opened(absolute_path)

        part = FilePart(path=str(path), is_settled=True, consumed=len(HERS) + 1, read_to=len(HERS) + 1)
        with pytest.MonkeyPatch.context() as patch:
            look = files.changed_ns

            def look_once(relative: str) -> int | None:
                patch.setattr(files, "open", open_and_append)
                patch.setattr(files, "changed_ns", look)
                return look(relative)

            patch.setattr(files, "changed_ns", look_once)
            found = edit_file(files, part, REDACTOR)
        assert (found.taken_in, problems_of([found])) == (1, [f"{path} changed meanwhile"])
        assert read(path).startswith(HERS + b"\n" + OTHER)
        assert edit_file(files, part, REDACTOR).problem == ""
        assert read(path).startswith(WITHOUT + b"\n" + OTHER)
