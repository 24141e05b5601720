"""Records to rows, in several files of several chunks: every line is one row, at its own place, and is found by it.

Blocks, chunks and batches are some lines long here, so that each of them ends inside of every other.
"""

from __future__ import annotations

import gzip
import hashlib
import json
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

from spark_jobs.contracts.rejections import IGNORED, OtherTableError, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources import decoding, file_blocks, file_scan
from spark_jobs.sources.decoding import decode_chunks, decode_records, read_lines
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.kept_bytes import BATCH_BYTES
from spark_jobs.sources.landing import list_landing, plan_landing
from spark_jobs.sources.landing_plan import LandingPlan
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from spark_jobs.storage.filesystem import Filesystem
from tests.support.broken import BROKEN, good
from tests.support.envelopes import line
from tests.support.in_process import Frame, Session, rows_of
from tests.support.mirrors import TYPES, UNAVAILABLE, change, keyed, line_of
from tests.support.shop_lakes import shop_spec

SESSION: Any = Session()
BROKEN_LINES = [make(1) for kind, (_, make) in BROKEN.items() if kind in ("not json", "key is text", "unknown op")]
NO_RECORD = [b"", b"null", b"\r", b'{"op":"m"}']
MIRRORED = [
    line_of(change(op, table, {"id": key, "total": 5, "note": note}, key, fields=fields))
    for key, (op, table, note, fields) in enumerate(
        [
            ("c", "orders", "Zo\u00eb", None),
            ("u", "orders", UNAVAILABLE, {"id": TYPES["int"], "total": TYPES["bigint"], "note": TYPES["string"]}),
            ("d", "lines", None, None),
            ("r", "lines", None, {"id": TYPES["int"], "total": TYPES["double"], "note": TYPES["string"]}),
            ("c", "others", "of a table that is no mirror", None),
        ]
    )
]
FOUND = [line_of(keyed(change(op, "found", {"id": 5, "line": n}, n), ["id", "line"])) for n, op in enumerate("cud", 1)]
FOUND += [line_of(change("c", "found", {"id": 5, "line": 4}, 4)), b'{"key":{"id":5},"value":null}']
ENTRIES: list[dict[str, Any]] = [
    *({"name": name, "key": ["id"]} for name in ("orders", "lines")),
    {"name": "{table}", "from": {"database": "shop", "table": "found*"}},
]
LAKES = {
    "wide log": (load_lake_spec(Settings().lake_spec), [line(good(key)) for key in range(4)]),
    "mirrors and found tables": (parse_lake_spec(shop_spec(ENTRIES)), [*MIRRORED, *FOUND]),
}
both_lakes = pytest.mark.parametrize(("spec", "good_lines"), LAKES.values(), ids=LAKES)


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


def folders_of(good_lines: Sequence[bytes]) -> st.SearchStrategy[list[Landed]]:
    records = st.sampled_from([*good_lines, *BROKEN_LINES, *NO_RECORD])
    files = st.builds(Landed, st.lists(records, max_size=9), st.sampled_from((b"", b'{"op"')), st.booleans())
    return st.lists(files, min_size=1, max_size=3)


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


def decided_by(spec: LakeSpec, raw: bytes) -> dict[str, Any]:
    """All that a row has to say of a record but its place, by a decoder that read nothing before; no nulls."""
    try:
        event = EnvelopeDecoder(spec).decode(raw)
    except RejectedRecordError as error:
        return {"reason": str(error.reason), "detail": error.detail, "raw": raw}
    except OtherTableError as error:
        return {"reason": IGNORED, "detail": error.table, "raw": b""}
    if event is None:
        return {"reason": IGNORED, "detail": "", "raw": b""}
    names = ("event_id", "op", "event_order", "event_time", "transaction_id")
    fields = {name: getattr(event, name) for name in names}
    fields |= {column.name: value for column, value in zip(spec.source.columns, event.values, strict=True)}
    if event.beside:
        fields |= {"row_types": [*event.beside.types], "row_values": [*event.beside.values]}
    fields |= {"row_unknown": [*event.unknown] if event.unknown else None}
    if event.mirrored:
        row = event.mirrored
        fields |= {"source_table": row.origin, "row_types": [*row.types], "row_values": [*row.values]}
        fields |= {"row_unknown": [*row.unknown] if row.unknown else None}
        fields |= {"key_columns": [*row.key] if row.key else None}
    fields |= {"source_origin": event.origin, "source_mark": event.mark, "source_identity": event.identity}
    return {name: value for name, value in fields.items() if value is not None}


def by_place(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """What rows say, by their places, each of which is there once."""
    found = {
        (row["read_from"], row["read_offset"]): {
            name: value for name, value in row.items() if value is not None and name not in ("read_from", "read_offset")
        }
        for row in rows
    }
    assert len(found) == len(rows)
    return found


@both_lakes
@settings(max_examples=40)
@given(data=st.data())
def test_every_line_is_one_row_with_all_that_it_says_at_its_own_place(
    spec: LakeSpec, good_lines: list[bytes], data: st.DataObject
):
    with planned(data.draw(folders_of(good_lines))) as (folder, plan, read):
        rows = rows_of(decode_chunks(SESSION, spec, folder, plan.chunks, plan.broken))
        assert len(rows) == plan.records + len(plan.broken)
    expected = {(path, at): decided_by(spec, text) for path, file in read.items() for at, text in file.places()}
    for path, file in read.items():
        if file.rest:
            why = {"reason": "truncated", "detail": "the file ends in the middle of a line", "raw": file.rest}
            expected[path, len(file.content) - len(file.rest)] = why
    assert by_place(rows) == expected


@settings(max_examples=40)
@given(folders_of([line(good(key)) for key in range(4)]), st.data())
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


@both_lakes
@settings(max_examples=20)
@given(data=st.data())
def test_a_record_that_is_decoded_once_more_keeps_its_hash_and_its_place(
    spec: LakeSpec, good_lines: list[bytes], data: st.DataObject
):
    raws = data.draw(st.lists(st.sampled_from([*good_lines, *BROKEN_LINES, *NO_RECORD]), max_size=9, unique=True))
    held: list[dict[str, Any]] = [
        {"record_hash": hashlib.sha256(raw).hexdigest(), "read_from": f"{at % 2}", "read_offset": at // 2, "raw": raw}
        for at, raw in enumerate(raws)
    ]
    fields = [("record_hash", pa.string()), ("read_from", pa.string()), ("read_offset", pa.int64())]
    schema = pa.schema([*fields, ("raw", pa.binary()), ("state", pa.string())])
    frame: Any = Frame.of(held[::2], held[1::2], schema=schema)
    assert by_place(rows_of(decode_records(spec, frame))) == {
        (row["read_from"], row["read_offset"]): {**decided_by(spec, row["raw"]), "__record": row["record_hash"]}
        for row in held
    }


KEPT = 3000


@contextmanager
def little_is_kept() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (decoding, file_blocks, file_scan):
            patch.setattr(module, "MAX_KEPT_BYTES", KEPT)
        yield


def test_of_a_record_that_is_too_large_place_size_and_hash_are_kept_and_the_rest_goes_on():
    """In a file of its own without an end of line, and between two good ones; the same content has the same bytes."""
    first, last = line(good(1)), line(good(2))
    large = b'{"op":"c","after":"%s"}' % (b"x" * 10_000)
    landed = [
        Landed([first, large, last], b"", False),
        Landed([first, first, large], b"", True),
        Landed([], large, False),
    ]
    spec = load_lake_spec(Settings().lake_spec)
    with little_is_kept(), planned(landed) as (folder, plan, _):
        rows = by_place(rows_of(decode_chunks(SESSION, spec, folder, plan.chunks, plan.broken)))
        assert len(rows) == plan.records == 7
    kept = json.dumps({"bytes": len(large), "sha256": hashlib.sha256(large).hexdigest()}).encode()
    too_large = {(Path(path).name, at): row["raw"] for (path, at), row in rows.items() if row.get("reason")}
    at = len(first) + 1
    assert too_large == {("0.jsonl", at): kept, ("1.jsonl", 2 * at): kept, ("2.jsonl", 0): kept}
    assert {row["reason"] for row in rows.values() if "reason" in row} == {"record_too_large"}


def test_batches_end_by_weight_before_they_end_by_rows():
    """Five thousand records of 430 KB were one batch of more than Arrow's 2 GB."""
    spec, sizes = load_lake_spec(Settings().lake_spec), list[int]()
    decoder = decoding.RecordDecoder(spec)
    record = b"x" * 430_000
    for offset in range(100):
        decoder.add("file", offset, record)
        sizes += [decoder.flush().num_rows] if decoder.is_full else []
    sizes.append(decoder.flush().num_rows)
    assert sum(sizes) == 100
    assert max(sizes) * len(record) < 2 * BATCH_BYTES
    batches = [*decoding.line_batches(("file", offset, record) for offset in range(100))]
    assert [row for batch in batches for row in batch.column(1).to_pylist()] == [*range(100)]
    assert max(batch.num_rows for batch in batches) * len(record) < 2 * BATCH_BYTES
    assert [batch.num_rows for batch in decoding.line_batches([])] == [0]
