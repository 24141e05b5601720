"""Rows of a database as records of the log: over all commits of a snapshot no two share a place."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.connectors.values import ColumnKind, JdbcColumn
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.jdbc.delivery import JdbcDelivery
from spark_jobs.sources.jdbc.envelopes import EnvelopeBuilder
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from tests.support.envelopes import START_MS
from tests.support.in_process import Frame, Session, rows_of
from tests.support.shop_lakes import shop_spec

SPEC = load_lake_spec(Settings().lake_spec)
FOUND = parse_lake_spec(shop_spec([{"name": "{table}", "from": {"database": "public", "table": "*"}}]))
SESSION: Any = Session()
SCHEMA = pa.schema([("part", pa.int32()), ("place", pa.int64()), ("c0", pa.string()), ("c1", pa.string())])
BUILDER = EnvelopeBuilder(
    [JdbcColumn(name="SaleId", kind=ColumnKind.INTEGER, before="", behind=""),
     JdbcColumn(name="UnitName", kind=ColumnKind.TEXT, before="", behind="")],
    {"connector": "postgresql", "name": "erp", "schema": "public", "table": "SALES", "lsn": 7, "ts_ms": START_MS},
    key=["UnitName", "SaleId"],
)  # fmt: skip
commits = st.lists(
    st.lists(st.lists(st.sampled_from(["1", "2", "18446744073709551615", None]), max_size=3), max_size=3), max_size=3
)
"""Of each commit its parts, of each part the keys of its rows; some cannot be used."""


def delivery_of(parts: list[list[str | None]], first: int) -> JdbcDelivery:
    partitions = [
        [{"part": part, "place": place, "c0": key, "c1": f"{first + part}/{place}"} for place, key in enumerate(keys)]
        for part, keys in enumerate(parts)
    ]
    frame: Any = Frame.of(*partitions, schema=SCHEMA)
    records = sum(map(len, parts))
    return JdbcDelivery(
        rows_df=frame,
        builder=BUILDER,
        origin="erp.public.SALES",
        first=first,
        records=records,
        snapshots={},
        has_more=False,
        may_be_known=False,
    )


@settings(max_examples=40)
@given(commits)
def test_every_row_has_a_place_of_its_own_by_which_its_bytes_are_found(parts_of_commits: list[list[list[str | None]]]):
    found, keys, first = [], [], 0
    for parts in parts_of_commits:
        delivery = delivery_of(parts, first)
        rows = rows_of(delivery.decode(SESSION, SPEC))
        keys += [row["key_columns"] for row in rows_of(delivery.decode(SESSION, FOUND)) if row["event_id"]]
        assert delivery.count_read(-1) == len(rows) == sum(map(len, parts))
        places: dict[str, set[int]] = {}
        for row in rows:
            places.setdefault(row["read_from"], set()).add(row["read_offset"])
        lines = rows_of(delivery.lines(SESSION, {name: frozenset(of) for name, of in places.items()}))
        raw = {(row["read_from"], row["read_offset"]): row["raw"] for row in lines}
        assert len(raw) == len(lines) == len(rows)
        for row in rows:
            part, place = int(row["read_from"].rpartition("/")[2]) - first, row["read_offset"]
            key = parts[part][place]
            text = raw[row["read_from"], place]
            assert BUILDER.build([key, f"{first + part}/{place}"]) == text
            assert (row["reason"], row["raw"]) == ((None, None) if key in ("1", "2") else (row["reason"], text))
        found += [(row["read_from"], row["read_offset"]) for row in rows]
        first += len(parts)
    assert len(set(found)) == len(found)
    there = [key for parts in parts_of_commits for of_part in parts for key in of_part]
    usable = [key for key in there if key in ("1", "2", None)]
    assert keys == [["UnitName", "SaleId"] if key else None for key in usable], "a row without its key says none"
