"""A batch of records is the same rows, whether they become columns together or each is decoded by itself.

Records of every connector, bare and with schemas, come in batches of a few forms, as those of a file do, so that their
layouts are learnt; then values that made a difference once, damage, keys given twice and numbers too large are among
them. The oracle is a decoder that takes no record into columns.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import Reason
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import OriginRule
from spark_jobs.sources import columnar
from spark_jobs.sources.columnar import ColumnarDecoder
from spark_jobs.sources.decoding import RecordDecoder
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.envelopes import CONNECT_FIELDS, START_MS, line, sqlserver, wrapped
from tests.support.mirrors import UNAVAILABLE

SPEC = load_lake_spec(Settings().lake_spec)
LAKES = {
    "positions": SPEC,
    "by time": replace(SPEC, source=replace(SPEC.source, origins=OriginRule.BY_TIME)),
    "epochs": replace(SPEC, epochs=(("sqlserver/erp/erp", ((START_MS + 3, 1),)), ("mysql/erp", ((0, 2),)))),
}
BLOCKS: dict[str, dict[str, Any]] = {
    "sqlserver": {"db": "erp", "schema": "dbo", "commit_lsn": "00000027:00000ac0:0002", "change_lsn": None},
    "postgresql": {"db": "erp", "schema": "public", "txId": 5, "lsn": 26371016, "sequence": '["26371000","26371016"]'},
    "mysql": {"db": "erp", "file": "binlog.000007", "pos": 1543, "row": 0, "gtid": "24DA167-0:5", "server_id": 3},
    "mariadb": {"db": "erp", "file": "mariadb-bin.000042", "pos": 7, "row": 2, "gtid": None},
    "oracle": {"db": "erp", "schema": "ERP", "scn": "123"},
}
USUAL: dict[str, list[Any]] = {
    "bigint": [0, 7, -3, 2**63 - 1],
    "string": ["Ada", "Zoë 花园", "12:30", 'a "b"', "a\\b", "", "100% %s", "😀", "\x7f"],
    "decimal": ["12.5000", "-0.0001", "0.0000"],
    "timestamp": [0, 1_700_000_000_000, 10**12],
    "boolean": [True, False],
}
ODD: list[Any] = [
    *(True, 5, 2**63, -(2**63) - 1, 1.5, 1.0, -0.0, "12", "1e3", "\u0000", "\ud83d", "x" * 4001, "é" * 2001, [1], {}),
    *(UNAVAILABLE, UNAVAILABLE.encode().hex(), f"{UNAVAILABLE}!", json.dumps({UNAVAILABLE: UNAVAILABLE})),
    *({"scale": 1, "value": "AQ=="}, "2026-01-01T00:00:00Z", -1, 10**17, None, "00000027:00000AC0:0002", "incremental"),
]
SCHEMAS = [None, None, CONNECT_FIELDS, [{"field": "SaleId", "type": "int64"}]]
DAMAGE = [b":", b'"', b"\\", b"\xff", b" ", b"{", b"}", b",", b"0", b"\t"]


class Records:
    """Records of one form, each different, by a source of chance."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._connector, self._schema = rng, rng.choice([*BLOCKS]), rng.choice(SCHEMAS)
        columns = SPEC.source.columns
        self._columns = rng.choice([columns, columns[:13], columns[::-1], (columns[0], *columns[9:])])
        self._has_transactions = rng.random() < 0.7
        self._has_extra, self._is_ascii = rng.random() < 0.1, rng.random() < 0.1

    def line(self, number: int, oddness: float) -> bytes:
        """The bytes of a record; ``oddness`` is how many of ten have something odd."""
        record = self._record(number)
        if self._rng.random() < oddness:
            part = self._rng.choice([each for each in (*record.values(), record) if type(each) is dict])
            part[self._rng.choice([*part])] = self._rng.choice(ODD)
        whole = wrapped(record, self._schema) if self._schema else record
        content = json.dumps(whole, separators=(",", ":"), ensure_ascii=self._is_ascii).encode("utf-8", "surrogatepass")
        return self._damaged(content) if self._rng.random() < oddness / 2 else content

    def _record(self, number: int) -> dict[str, Any]:
        rng = self._rng
        op = rng.choice("cuuurd")
        source = {"version": "3.3.1.Final", "connector": self._connector, "name": "erp", "ts_ms": START_MS + number}
        source |= {"snapshot": "false", "table": "SALES", **BLOCKS[self._connector]}
        if self._connector == "sqlserver" and number % 2:
            source |= {"change_lsn": f"00000027:{number:08x}:000A", "event_serial_no": number}
        before, after = (self._row() if op in kinds else None for kinds in ("ud", "cur"))
        record: dict[str, Any] = {"before": before, "after": after, "source": source}
        if self._has_transactions:
            record |= {"transaction": {"id": "5:7", "total_order": number} if number % 7 == 0 else None}
        return {**record, "op": op, "ts_ms": START_MS + number}

    def _row(self) -> dict[str, Any]:
        rng = self._rng
        row = {c.source: None if rng.random() < 0.2 else rng.choice(USUAL[c.type.value]) for c in self._columns}
        row |= {"Extra": rng.choice(["é", 5, None])} if self._has_extra else {}
        return {**row, "SaleId": rng.randrange(9)}

    def _damaged(self, content: bytes) -> bytes:
        rng, at = self._rng, self._rng.randrange(len(content))
        kind = rng.randrange(4)
        if kind == 0:
            return content[:at] + rng.choice(DAMAGE) + content[at + 1 :]
        if kind == 1:
            return content[: -rng.randint(1, 40)]
        if kind == 2:
            return content + rng.choice([b" ", b"\r", b"{}", b"null"])
        begin = rng.choice([found for found in range(len(content)) if content[found : found + 2] == b'{"'])
        key = content[begin + 1 : content.index(b":", begin)]
        return content[: begin + 1] + key + b":" + rng.choice([b"null", b"1", b'"x"']) + b"," + content[begin + 1 :]


def lines_of(seed: int, count: int = 30, oddness: float = 0.2) -> list[bytes]:
    """Records of two forms: those of one, then of both."""
    rng = random.Random(seed)
    first, second = Records(rng), Records(rng)
    return [
        (second if number > count / 3 and rng.random() < 0.3 else first).line(number, oddness if number > 8 else 0)
        for number in range(count)
    ]


def rows_of(spec: LakeSpec, lines: Sequence[bytes], *, batch: int = 11) -> list[dict[str, Any]]:
    decoder, rows = RecordDecoder(spec, has_record=True), list[dict[str, Any]]()
    for at, content in enumerate(lines):
        decoder.add(f"file {at % 2}", at, content, f"hash {at}")
        if at % batch == batch - 1:
            rows += decoder.flush().to_pylist()
    return sorted([*rows, *decoder.flush().to_pylist()], key=lambda row: row["read_offset"])


def expected_rows(spec: LakeSpec, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """What each record is by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ColumnarDecoder, "take", lambda *_: False)
        patch.setattr(ColumnarDecoder, "learn", lambda *_: None)
        return rows_of(spec, lines)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([*LAKES]))
def test_rows_are_the_same_together_and_one_by_one(seed, lake):
    lines = lines_of(seed)
    assert rows_of(LAKES[lake], lines) == expected_rows(LAKES[lake], lines)


TWICE = [(30, "Ada"), (31, "a:b"), (32, "::")]


def sales(number: int, **values: Any) -> bytes:
    """A record of the wide log in its usual form."""
    return line(sqlserver("c", {"SaleId": number, "AgentName": "Ada", **values}, number))


LEARNT = [sales(number) for number in range(20)]
"""Records after which their layout is known."""


def test_usual_records_become_columns(monkeypatch: pytest.MonkeyPatch):
    """Only those from which the layout is learnt are decoded by themselves; a broken one does not change that."""
    decode, single = EnvelopeDecoder.decode, list[bytes]()

    def decode_one(self: EnvelopeDecoder, content: bytes, key: bytes = b"") -> DecodedEvent | None:
        single.append(content)
        return decode(self, content, key)

    monkeypatch.setattr(EnvelopeDecoder, "decode", decode_one)
    lines = [sales(number, AgentName=f"12:30 {number}") for number in range(60)]
    lines[40] = lines[40][:-9]
    decoder = RecordDecoder(SPEC)
    for number, content in enumerate(lines):
        decoder.add("file", number, content)
    assert decoder.flush().num_rows == 60
    assert single == [*lines[:4], lines[40]]


def test_a_key_given_twice_is_noticed_in_a_batch():
    twice = [sales(number, AgentName=name).replace(b'"after":{', b'"after":{"SaleId":1,') for number, name in TWICE]
    found = rows_of(SPEC, [*LEARNT, *twice])[-len(twice) :]
    assert {row["reason"] for row in found} == {Reason.DUPLICATE_KEY}


def test_texts_are_in_the_hash_as_json_has_them():
    lines = [*LEARNT, *(sales(30, AgentName=name) for name in USUAL["string"])]
    assert [row["event_id"] for row in rows_of(SPEC, lines)] == [row["event_id"] for row in expected_rows(SPEC, lines)]


def test_what_is_learnt_is_bounded(monkeypatch: pytest.MonkeyPatch):
    """Layouts, and files of which is known what they have: beyond that, records are decoded by themselves."""
    monkeypatch.setattr(columnar, "_MOST_LAYOUTS", 1)
    monkeypatch.setattr(columnar, "_MOST_PLACES", 1)
    lines = [*LEARNT, *(sales(number, UnitId=number) for number in range(20))]
    assert rows_of(SPEC, lines) == expected_rows(SPEC, lines)
