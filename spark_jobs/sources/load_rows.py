"""Records of the files of a load, one after another: where each is, what it says, and how it would be kept."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.loads import FileFormat
from spark_jobs.sources.kept_bytes import BATCH_BYTES, GrowingHash, TooLarge
from spark_jobs.sources.load_files import iter_texts, open_bytes
from spark_jobs.sources.records import MAX_RECORD_BYTES, parse_record

_BATCH_ROWS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One record: ``at`` is the number of its first line, of a Parquet file that of its row; both begin with 1.

    ``values`` are by the names that the file gives them; None when the record cannot be read, for the reason in
    ``error``. ``text`` is the record itself, where it is text and not known by its values; of one that is
    ``large`` the beginning of it.
    """

    at: int
    values: Mapping[str, Any] | None
    error: RejectedRecordError | None = None
    text: str = ""
    large: TooLarge | None = None

    @property
    def weight(self) -> int:
        """About how many bytes the record has."""
        values = self.values or {}
        return len(self.text) + sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in values.values())

    def raw(self, table: str) -> bytes:
        """The record as the quarantine keeps it: JSON of the table, and the row or the line."""
        kept = {"row": self.values} if self.values is not None and not self.text else {"line": self.text}
        whole = {"bytes": self.large.size, "sha256": self.large.digest} if self.large else {}
        return json.dumps({"load": table, **kept, **whole}, default=str).encode()


def iter_records(file: Any, kind: FileFormat, delimiter: str) -> Iterator[FileRecord]:
    """Every record of an open file; blank lines are none."""
    if kind is FileFormat.PARQUET:
        return _parquet_records(file)
    return _json_records(file) if kind is FileFormat.JSON else _csv_records(file, delimiter)


def _csv_records(file: Any, delimiter: str) -> Iterator[FileRecord]:
    """A record may have several lines, when values have line ends in quotation marks."""
    taken: list[str] = []
    too_large: list[TooLarge] = []
    at = 1

    def lines() -> Iterator[str]:
        for line, large in iter_texts(file):
            taken.append(line)
            too_large.extend([large] if large else [])
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        try:
            fields = next(reader, None)
            error = None
        except csv.Error as problem:
            fields, error = [], RejectedRecordError(Reason.BAD_TEXT, f"the row is no CSV: {problem}")
        if fields is None:
            return
        text, first, at = "".join(taken), at, at + len(taken)
        large = too_large[0] if too_large else None
        taken.clear()
        too_large.clear()
        if large:
            yield FileRecord(at=first, values=None, error=_too_long(large), text=text[:MAX_RECORD_BYTES], large=large)
            continue
        if header is None:
            header = fields
        elif error is None and not text.strip():
            continue
        elif error is None and len(fields) == len(header):
            yield FileRecord(at=first, values=dict(zip(header, fields, strict=True)))
        else:
            error = error or RejectedRecordError(
                Reason.BAD_TEXT, f"a row of {len(fields)} values below a header of {len(header)}"
            )
            yield FileRecord(at=first, values=None, error=error, text=text.rstrip("\r\n"))


def _json_records(file: Any) -> Iterator[FileRecord]:
    source, at = open_bytes(file), 0
    while line := source.readline(MAX_RECORD_BYTES + 2):
        at += 1
        raw = line.rstrip(b"\r\n")
        if len(raw) > MAX_RECORD_BYTES and not line.endswith(b"\n"):
            large = _rest_of(line, source)
            text = raw.decode("utf-8", "surrogateescape")
            yield FileRecord(at=at, values=None, error=_too_long(large), text=text, large=large)
            continue
        if at == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if not raw.strip():
            continue
        text = raw.decode("utf-8", "surrogateescape")
        try:
            values = parse_record(raw)
            problem = None if values else RejectedRecordError(Reason.NULL_PAYLOAD, "nothing instead of a row")
        except RejectedRecordError as error:
            values, problem = None, error
        yield FileRecord(at=at, values=values, error=problem, text=text)


def _rest_of(line: bytes, source: io.BufferedReader) -> TooLarge:
    """What a line has in all whose beginning was read."""
    whole = GrowingHash()
    while line:
        whole.update(line)
        line = b"" if line.endswith(b"\n") else source.readline(MAX_RECORD_BYTES)
    return whole.close()


def _too_long(large: TooLarge) -> RejectedRecordError:
    return RejectedRecordError(Reason.TOO_LONG, f"a line of {large.size:,} bytes, at most {MAX_RECORD_BYTES}")


def batch_rows(bytes_of_rows: int, rows: int) -> int:
    """How many rows of a Parquet file are read at a time, by what all of its rows have before they are packed."""
    return max(1, min(_BATCH_ROWS, BATCH_BYTES * rows // max(bytes_of_rows, 1)))


def _parquet_records(file: Any) -> Iterator[FileRecord]:
    import pyarrow.parquet as pq

    at, parquet = 0, pq.ParquetFile(file)
    groups = [parquet.metadata.row_group(number) for number in range(parquet.metadata.num_row_groups)]
    most = batch_rows(sum(group.total_byte_size for group in groups), parquet.metadata.num_rows)
    for batch in parquet.iter_batches(batch_size=most):
        for values in batch.to_pylist():
            at += 1
            yield FileRecord(at=at, values=values)
