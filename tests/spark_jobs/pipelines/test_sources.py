"""The sources of a batch: which records are set aside, and what is known afterwards.

ERP_A is known up to position 32 (hexadecimal) at minute 50. The batch has: a change at position 33, a late one at 10,
one that fell (position 05 at minute 60), a row of a snapshot that was read long after its position (30 at minute 90),
one of a company that is not declared (ERP_B), one that was rejected before, and one with a time that has not come.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.epochs import PositionsFellError
from spark_jobs.lake_spec.origins import WIDE, SourceBook, Stream
from spark_jobs.pipelines.sources import check_sources
from spark_jobs.sources.decoding import decoded_schema
from spark_jobs.spec_files.spec_file import load_lake_spec

pytestmark = pytest.mark.spark

SPEC, SETTINGS = load_lake_spec(Settings().lake_spec), Settings()
START = datetime(2026, 1, 1, tzinfo=UTC)
CLOCK = START + timedelta(hours=2)
A, B, STREAM = "sqlserver/erp/ERP_A/dbo.SALES", "sqlserver/erp/ERP_B/dbo.SALES", "sqlserver/erp/ERP_A"
MINUTE_MS = 60_000


def at(minute: float) -> int:
    return int(START.timestamp() * 1000 + minute * MINUTE_MS)


BOOK = SourceBook(streams={STREAM: Stream(mark="32", time=at(50))}, origins={WIDE: (A,)})
BATCH: tuple[tuple[str, str, str, float, str | None], ...] = (
    ("higher", A, "33", 51, None),
    ("late", A, "10", 10, None),
    ("fell", A, "05", 60, None),
    ("read", A, "30", 90, None),
    ("other", B, "77", 52, None),
    ("broken", A, "01", 70, "not_json"),
    ("ahead", A, "02", 60 * 24, None),
)


def batch(spark: Any, rows: Any = BATCH) -> Any:
    columns = [part.split()[0] for part in decoded_schema(SPEC).split(", ")]
    made = []
    for name, origin, mark, minute, reason in rows:
        row = {"event_id": name, "op": "r" if name == "read" else "u", "source_origin": origin, "source_mark": mark}
        row |= {"event_time": START + timedelta(minutes=minute), "source_identity": "", "reason": reason}
        made.append(tuple(row.get(column) for column in columns))
    return spark.createDataFrame(made, decoded_schema(SPEC))


def take_in(decoded_df: Any, book: SourceBook = BOOK, *, may_stop: bool = True) -> Any:
    return check_sources(decoded_df, SPEC, book, CLOCK, SETTINGS, may_stop=may_stop)


def test_what_the_sources_do_not_allow_is_set_aside(spark):
    taken = take_in(batch(spark))
    reasons = {row["event_id"]: row["reason"] for row in taken.decoded_df.select("event_id", "reason").collect()}
    assert reasons == {
        **dict.fromkeys(("higher", "late", "read", "ahead")),
        "fell": "position_fell",
        "other": "other_origin",
        "broken": "not_json",
    }
    (fall,) = taken.falls
    assert (fall.events, fall.low, fall.since, fall.until) == (1, "05", at(60), at(60))
    assert taken.book.streams == {STREAM: Stream(mark="33", time=at(51))}
    assert (taken.book.origins, taken.book.refused) == ({WIDE: (A,)}, {WIDE: (B,)})
    assert len(taken.alerts) == len(taken.messages) == 2
    assert any(B in line and A in line for line in taken.alerts)


def test_many_that_fell_stop_the_run_where_it_may(spark):
    rows = [(f"fell {number}", A, f"0{number}", 60 + number, None) for number in range(5)]
    decoded_df = batch(spark, rows)
    with pytest.raises(PositionsFellError, match=r"5 events from 2026-01-01T01:00:00\.000Z"):
        take_in(decoded_df)
    assert take_in(decoded_df, may_stop=False).falls[0].events == 5
    accepted = replace(BOOK, streams={STREAM: replace(BOOK.streams[STREAM], accepted=at(65))})
    assert take_in(decoded_df, accepted).falls == ()


def test_an_ordinary_batch_is_left_as_it_is(spark):
    decoded_df = batch(spark, BATCH[:2])
    taken = take_in(decoded_df, SourceBook())
    assert taken.decoded_df is decoded_df
    assert (taken.falls, taken.messages, taken.book.origins) == ((), (), {WIDE: (A,)})
