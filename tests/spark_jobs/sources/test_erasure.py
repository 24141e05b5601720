"""Somebody taken out of one landing file: what was taken in of it, in place, and nothing else; without Spark."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.people import Person, PersonSpec
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.sources.erasure import FilePart, edit_file, edited_ledger, find_in_file, parts_of
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.redaction import Redactor
from spark_jobs.storage.filesystem import FileEntry, Filesystem
from tests.support.envelopes import line, sqlserver

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
def landed(content: bytes, *, is_packed: bool) -> Iterator[tuple[Filesystem, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t", "file")
        path.parent.mkdir()
        path.write_bytes(gzip.compress(content) if is_packed else content)
        yield Filesystem(folder), path


def read(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


@given(taken=records, later=records, last=st.sampled_from((b"", HERS, BROKEN)), is_packed=st.booleans())
def test_what_was_taken_in_is_edited_and_what_comes_later_is_not(
    taken: list[bytes], later: list[bytes], last: bytes, is_packed: bool
):
    head = b"".join(record + b"\n" for record in taken)
    tail = b"".join(record + b"\n" for record in later) + last
    edited = b"".join(wanted(record) + b"\n" for record in taken)
    with landed(head + tail, is_packed=is_packed) as (files, path):
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


def test_what_nobody_has_taken_in_is_found_and_left():
    with landed(HERS + b"\n", is_packed=False) as (files, path):
        (part,) = parts_of([FileEntry(path=str(path), size=1, modified_ns=1)], {}, settled_before_ns=9)
        found = edit_file(files, part, REDACTOR)
        assert (found.records, found.taken_in) == (1, 0)
        assert read(path) == HERS + b"\n"
        assert edited_ledger({}, [found]) == {}


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
