"""Decoded records to rows of log and quarantine: each event once, each broken content once, at its first position.

The landing chunk holds event A twice, event B once, one broken line at bytes 30 and 10, and a blank one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import functions as F

from spark_jobs.contracts.rejections import Reason
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import ROW_COLUMNS
from spark_jobs.sources.decoding import LINES, SOURCE_COLUMNS, decoded_schema
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.transforms.log import (
    is_set_aside,
    log_columns,
    select_log_rows,
    select_rejections,
    set_aside,
    with_day,
    with_raw,
)
from tests.support.lakes import in_utc

pytestmark = pytest.mark.spark

SPEC = load_lake_spec(Settings().lake_spec)
CLOCK = datetime(2026, 1, 2, tzinfo=UTC)
EMPTY = (None,) * (5 + len(SPEC.source.columns) + len(ROW_COLUMNS) + len(SOURCE_COLUMNS))
LATE = datetime(2026, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC)


@pytest.fixture
def decoded_df(spark: Any) -> Any:
    empty = (None,) * (len(SPEC.source.columns) - 1 + len(ROW_COLUMNS) + len(SOURCE_COLUMNS))
    event_a = ("A", "c", "1", LATE, None, 7, *empty, "file", 0, None, None, None)
    event_b = ("B", "d", "2", CLOCK, None, 8, *empty, "file", 20, None, None, None)
    broken = [(None,) * (6 + len(empty)) + ("file", at, "not_json", "why", b"?") for at in (30, 10)]
    blank = (None,) * (6 + len(empty)) + ("file", 40, "ignored", "", b"")
    return with_day(spark.createDataFrame([event_a, event_b, event_a, *broken, blank], decoded_schema(SPEC)), CLOCK)


def test_every_event_is_one_row_of_the_day_of_its_time(decoded_df):
    rows_df = select_log_rows(decoded_df, SPEC)
    assert tuple(rows_df.columns) == log_columns(SPEC)
    rows = {row["event_id"]: row for row in rows_df.collect()}
    assert {name: (row["event_date"], row["sale_id"]) for name, row in rows.items()} == {
        "A": ("2026-01-01", 7),
        "B": ("2026-01-02", 8),
    }
    assert rows_df.count() == 2
    assert in_utc(rows["A"]["ingest_time"]) == CLOCK


def test_what_breaks_a_rule_is_rejected_with_its_bytes(spark, decoded_df):
    rules = F.when(F.col("event_id") == "A", F.array(F.lit("one"), F.lit("two"))).otherwise(F.array())
    aside_df = set_aside(decoded_df, rules)
    assert aside_df.columns == decoded_df.columns
    assert [row["event_id"] for row in select_log_rows(aside_df, SPEC).collect()] == ["B"]
    lines_df = spark.createDataFrame(
        [("file", 0, b"the line"), ("other", 20, b"not it")], "read_from string, read_offset bigint, raw binary"
    )
    rejected = select_rejections(with_raw(aside_df, lines_df), CLOCK).collect()
    assert {(bytes(row["raw"]), row["reason"], row["detail"]) for row in rejected} == {
        (b"?", "not_json", "why"),
        (b"the line", "broken_rule", "one, two"),
    }


def test_bytes_are_those_of_the_record_in_its_own_file_for_whatever_reason_it_was_set_aside(spark, decoded_df):
    """Four records at the same place of four files, each for a reason of its own; one was not used."""
    reasons = [Reason.BROKEN_RULE, Reason.OTHER_TYPE, Reason.OTHER_ORIGIN, Reason.POSITION_FELL]
    rows = [(*EMPTY, f"file {n}", 7, reason.value, "why", None) for n, reason in enumerate(reasons)]
    aside_df = spark.createDataFrame([*rows, (*EMPTY, "file 4", 7, "not_json", "why", b"own")], decoded_schema(SPEC))
    lines_df = spark.createDataFrame([(f"file {n}", 7, b"line %d" % n) for n in reversed(range(5))], LINES)
    assert sorted(row["read_from"] for row in aside_df.where(is_set_aside()).collect()) == [
        f"file {n}" for n in range(4)
    ]
    found = {row["read_from"]: bytes(row["raw"]) for row in with_raw(aside_df, lines_df).collect()}
    assert found == {**{f"file {n}": b"line %d" % n for n in range(4)}, "file 4": b"own"}
    assert with_raw(aside_df, lines_df).count() == 5


def test_a_broken_content_is_one_row_at_its_first_position(spark, decoded_df):
    earlier = [(*EMPTY, "a file", at, "not_json", "why", b"?") for at in (80, 70)]
    for order in (earlier, earlier[::-1]):
        more_df = decoded_df.unionByName(with_day(spark.createDataFrame(order, decoded_schema(SPEC)), CLOCK))
        (first,) = select_rejections(more_df, CLOCK).collect()
        assert (first["read_from"], first["read_offset"]) == ("a file", 70), "of the first file by its name"
    (row,) = select_rejections(decoded_df, CLOCK).collect()
    assert (bytes(row["raw"]), row["reason"], row["detail"], row["read_offset"]) == (b"?", "not_json", "why", 10)
    assert row["record_hash"] == "8a8de823d5ed3e12746a62ef169bcf372be0ca44f0a1236abc35df05d96928e1"
