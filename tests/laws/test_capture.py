"""A real capture of Debezium's PostgreSQL connector (tests/data/README.md), in order, in arrivals and shuffled.

588 records: a snapshot of 40 rows that share one LSN, then changes, deletes with their tombstones, changes of the key,
and two columns added half-way. The source's own table at the end says which sales are alive.
"""

from __future__ import annotations

import gzip
import json
import random

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support import oracle
from tests.support.envelopes import POSTGRES_TOPIC
from tests.support.lakes import Lake, assert_equals_oracle, tables_by_spark

pytestmark = pytest.mark.hudi

FOLDER = PROJECT_ROOT / "tests" / "data" / "debezium-postgres"
LINES = gzip.decompress((FOLDER / "erp.public.SALES.jsonl.gz").read_bytes()).splitlines()
SOURCE_AT_THE_END = json.loads((FOLDER / "source-at-the-end.json").read_text())


def live_sales(tables: oracle.Tables) -> set[int]:
    return {key for key, row in tables["sales"].items() if not row["is_deleted"]}


def shuffled() -> list[bytes]:
    return random.Random(1).sample(LINES, len(LINES))


def three_arrivals(lake: Lake) -> None:
    """The first as a sink would write it, the second compressed, the third at the end of the first's file."""
    lake.land("a.jsonl", LINES[:200], topic=POSTGRES_TOPIC)
    lake.run("ingest")
    lake.run("split")
    lake.land("b.jsonl.gz", LINES[200:400], topic=POSTGRES_TOPIC, is_gzip=True)
    lake.run("ingest")
    lake.land("a.jsonl", LINES[:200] + LINES[400:], topic=POSTGRES_TOPIC)
    lake.run("ingest")
    lake.run("split")


def once_shuffled(lake: Lake) -> None:
    lake.land("all.jsonl", shuffled(), topic=POSTGRES_TOPIC)
    lake.run("ingest")
    lake.run("split")


def test_the_oracle_itself_ends_where_the_source_ended():
    events, unusable = oracle.read_lines(LINES)
    assert (len(LINES), len(events), unusable) == (588, sum(line != b"null" for line in LINES), set())
    tables = oracle.fold(events)
    assert live_sales(tables) == {row["SaleId"] for row in SOURCE_AT_THE_END}
    assert oracle.fold(oracle.read_lines(shuffled())[0]) == tables


@pytest.mark.parametrize("deliver", [three_arrivals, pytest.param(once_shuffled, marks=pytest.mark.slice(name="laws"))])
def test_the_tables_are_the_oracles_and_live_sales_the_sources(lake, deliver):
    deliver(lake)
    assert_equals_oracle(lake, LINES)
    assert live_sales(tables_by_spark(lake)) == {row["SaleId"] for row in SOURCE_AT_THE_END}
