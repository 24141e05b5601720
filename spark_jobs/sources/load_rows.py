"""Records of the files of a load, one after another: where each is, what it says, and how it would be kept."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.loads import FileFormat
from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.sources.load_files import open_bytes, open_text
from spark_jobs.sources.records import MAX_RECORD_BYTES, parse_record

_BATCH_ROWS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One record: ``at`` is the number of its first line, of a Parquet file that of its row; both begin with 1.

    ``values`` are by the names that the file gives them; None when the record cannot be read, for the reason in
    ``error``. ``text`` is what stands there, of a record that is text and not known by its values.
    """

    at: int
    values: Mapping[str, Any] | None
    error: RejectedRecordError | None = None
    text: str = ""

    def raw(self, table: str) -> bytes:
        """The record as the quarantine keeps it: JSON of the table, and the row or the line."""
        kept = {"row": self.values} if self.values is not None and not self.text else {"line": self.text}
        return json.dumps({"load": table, **kept}, default=str).encode()


def iter_records(file: Any, kind: FileFormat, delimiter: str) -> Iterator[FileRecord]:
    """Every record of an open file; blank lines are none."""
    if kind is FileFormat.PARQUET:
        return _parquet_records(file)
    return _json_records(file) if kind is FileFormat.JSON else _csv_records(file, delimiter)


def _csv_records(file: Any, delimiter: str) -> Iterator[FileRecord]:
    """A record may have several lines, when values have line ends in quotation marks."""
    taken: list[str] = []
    at = 1

    def lines() -> Iterator[str]:
        for line in open_text(file):
            taken.append(line)
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
        taken.clear()
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
        is_cut = len(raw) > MAX_RECORD_BYTES
        while is_cut and not line.endswith(b"\n") and (line := source.readline(MAX_RECORD_BYTES)):
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


def _parquet_records(file: Any) -> Iterator[FileRecord]:
    import pyarrow.parquet as pq

    at = 0
    for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH_ROWS):
        for values in batch.to_pylist():
            at += 1
            yield FileRecord(at=at, values=values)
