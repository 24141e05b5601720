"""Records of a load's files one after another: their places, their values, and what is no record."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_spec.loads import FileFormat
from spark_jobs.sources.file_blocks import GZIP_MAGIC
from spark_jobs.sources.kept_bytes import BATCH_BYTES
from spark_jobs.sources.load_rows import FileRecord, batch_rows, iter_records
from spark_jobs.sources.records import MAX_RECORD_BYTES
from spark_jobs.storage.filesystem import Filesystem


def read(content: bytes, kind: FileFormat = FileFormat.CSV, delimiter: str = ",") -> list[FileRecord]:
    return list(iter_records(io.BytesIO(content), kind, delimiter))


def places(records: list[FileRecord]) -> list[tuple[int, Any]]:
    return [(each.at, dict(each.values) if each.values is not None else str(each.error)) for each in records]


def test_rows_of_csv_are_known_by_their_first_line():
    content = b'\xef\xbb\xbfa,b\r\n1,"two\nlines"\r\n\r\n  \n3,"a ""word"", and more"\n4,\n5,x,y\n6,z'
    assert places(read(content)) == [
        (2, {"a": "1", "b": "two\nlines"}),
        (6, {"a": "3", "b": 'a "word", and more'}),
        (7, {"a": "4", "b": ""}),
        (8, "bad_text: a row of 3 values below a header of 2"),
        (9, {"a": "6", "b": "z"}),
    ]


def test_what_is_no_csv_is_kept_as_it_is_and_the_rest_goes_on():
    records = read(b'a,b\n1,"x"y\n2,ok\n3,"never closed\n4,more')
    assert places(records)[1] == (3, {"a": "2", "b": "ok"})
    assert [each.error is None for each in records] == [False, True, False]
    assert json.loads(records[0].raw("t")) == {"load": "t", "line": '1,"x"y'}
    assert json.loads(records[2].raw("t")) == {"load": "t", "line": '3,"never closed\n4,more'}
    long = b"1," + b"x" * 200_000
    assert [each.error is None for each in read(b"a,b\n" + long + b"\n2,ok\n")] == [False, True]


def test_bytes_that_are_no_text_stay_in_their_row():
    (first, second) = read(b"a,b\n1,\xff\xfe\n2,ok\n")
    assert json.loads(first.raw("t"))["row"] == {"a": "1", "b": "\udcff\udcfe"}
    assert dict(second.values or {}) == {"a": "2", "b": "ok"}
    (line,) = read(b'{"a": "\xff"}', FileFormat.JSON)
    assert "not_utf8" in str(line.error)


def test_lines_of_json():
    lines = [b'{"a": 1.10}', b"", b"null", b"[1]", b'{"a": 1, "a": 2}', b"{", b'{"a": NaN}', b'{"b": {"c": [1]}}']
    records = read(b"\r\n".join(lines), FileFormat.JSON)
    assert [each.at for each in records] == [1, 3, 4, 5, 6, 7, 8]
    reasons = [str(each.error).split(":")[0] for each in records]
    assert reasons == [
        "None",
        "null_payload",
        "not_an_envelope",
        "duplicate_key_in_json",
        "not_json",
        "not_json",
        "None",
    ]
    assert records[0].values == {"a": Decimal("1.10")}
    assert json.loads(records[3].raw("t")) == {"load": "t", "line": '{"a": 1, "a": 2}'}


def test_a_line_that_is_too_long_ends_where_it_ends():
    long = b'{"a": "' + b"x" * (3 * MAX_RECORD_BYTES) + b'"}'
    records = read(long + b'\n{"a": 1}\n', FileFormat.JSON)
    assert [(each.at, str(each.error).split(":")[0]) for each in records] == [(1, "text_too_long"), (2, "None")]
    assert len(records[0].text) == MAX_RECORD_BYTES + 2
    kept = json.loads(records[0].raw("t"))
    assert (kept["bytes"], kept["sha256"]) == (len(long) + 1, hashlib.sha256(long + b"\n").hexdigest())


@pytest.mark.parametrize("columns", [1, 2])
def test_a_line_of_csv_that_is_too_long_ends_where_it_ends(columns: int):
    """Cut off, it has as many values as the header all the same."""
    long = b",".join([b"x" * (2 * MAX_RECORD_BYTES)] * columns)
    records = read(b"a,b\n1,2\n" + long + b"\n3,4\n")
    assert [(each.at, str(each.error).split(":")[0]) for each in records] == [
        (2, "None"),
        (3, "text_too_long"),
        (4, "None"),
    ]
    assert json.loads(records[1].raw("t"))["bytes"] == len(long) + 1
    assert len(records[1].text) <= MAX_RECORD_BYTES


@given(st.integers(0, 10**10), st.integers(0, 10**6))
def test_rows_of_parquet_are_read_by_what_they_weigh(weight: int, rows: int):
    most = batch_rows(weight, rows)
    assert 1 <= most <= 5000
    assert most == 1 or most * weight <= BATCH_BYTES * rows


def test_rows_of_parquet_have_the_types_of_the_file(tmp_path: Path):
    columns = {
        "d": pa.array([Decimal("1.50"), None]),
        "t": pa.array([datetime(2026, 1, 1, tzinfo=UTC), None]),
        "day": pa.array([date(2026, 1, 1), None]),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with Filesystem(str(tmp_path)).open(str(tmp_path / "a.parquet")) as file:
        first, second = iter_records(file, FileFormat.PARQUET, ",")
    assert first.values == {"d": Decimal("1.50"), "t": datetime(2026, 1, 1, tzinfo=UTC), "day": date(2026, 1, 1)}
    assert (first.at, second.at) == (1, 2)
    assert json.loads(first.raw("t"))["row"] == {"d": "1.50", "t": "2026-01-01 00:00:00+00:00", "day": "2026-01-01"}


@pytest.mark.parametrize("is_gzip", [False, True])
def test_files_are_read_as_they_are_stored(tmp_path: Path, is_gzip: bool):
    content = b"a,b\n" + b"1,x\n" * 5000
    (tmp_path / "a").write_bytes(gzip.compress(content) if is_gzip else content)
    with Filesystem(str(tmp_path)).open(str(tmp_path / "a")) as file:
        assert [each.at for each in iter_records(file, FileFormat.CSV, ",")] == list(range(2, 5002))


@given(st.binary(max_size=300).filter(lambda content: not content.startswith(GZIP_MAGIC)))
def test_whatever_the_bytes_are_every_line_is_in_some_record(content: bytes):
    """Of a file only blank lines are skipped. Damaged gzip files are found when a load is looked at."""
    records = read(b"a\n" + content)
    texts = [each.text if each.values is None else "".join(each.values.values()) for each in records]
    kept = "".join(texts)
    wanted = content.decode("utf-8", "surrogateescape")
    assert not {*wanted} - {*kept, *' \t\n\r\x0b\x0c"'} - {c for c in wanted if c.isspace()}
    json_lines = read(content, FileFormat.JSON)
    blank = [
        not line.removeprefix(b"\xef\xbb\xbf" if not n else b"").strip() for n, line in enumerate(content.split(b"\n"))
    ]
    assert len(json_lines) == blank.count(False)
