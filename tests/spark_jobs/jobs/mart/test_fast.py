"""The fast layer's marts follow corrections, re-assignments, deletes and the clock, and never go back.

The story is in ``CHAPTERS``: units 1 and 2 of projects 10 and 20, sold by agents 5 and 6 on 2026-01-02. After each
chapter both marts must be the oracle's at the latest clock there was.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake, assert_marts_equal_oracle
from tests.support.mart_lakes import make_mart_lake

pytestmark = pytest.mark.hudi

MIDNIGHT_MS, HOUR_MS = 1_767_312_000_000, 60 * 60 * 1000
NOON = datetime(2026, 1, 2, 12, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def event(op: str, number: int, position: int, hour: float, **columns: object) -> bytes:
    """A change of a sale at an hour of 2026-01-02."""
    row = {"SaleId": number, "StatusId": 1, **columns}
    return line(sqlserver(op, row, position, ts_ms=MIDNIGHT_MS + int(hour * HOUR_MS)))


def signed(number: int, position: int, hour: float, unit: int, agent: int, amount: str) -> bytes:
    columns = {"UnitId": unit, "ProjectId": unit * 10, "AgentId": agent, "ContractSubtotal": amount}
    return event("u", number, position, hour, ContractSigningDate=MIDNIGHT_MS + HOUR_MS, **columns)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return make_mart_lake(spark, tmp_path, layers=("fast",))


CHAPTERS: dict[str, tuple[datetime, list[bytes]]] = {
    "three deals, a sale that is none, and yesterday evening": (
        NOON,
        [
            signed(1, 1, 11, unit=1, agent=5, amount="100.0001"),
            signed(2, 2, 12.2, unit=2, agent=5, amount="0.1000"),
            signed(3, 3, 12.4, unit=2, agent=6, amount="99999999999999.9999"),
            event("c", 4, 4, 12.4, UnitId=1, ProjectId=10),
            event("c", 5, 5, -11.4, UnitId=9),
            event("c", 6, 6, -30, UnitId=9),
        ],
    ),
    "an amount is corrected, a sale changes hands, one is deleted": (
        NOON,
        [
            event("u", 1, 11, 12.45, ContractSubtotal="250.0000"),
            event("u", 2, 12, 12.45, AgentId=6),
            event("d", 3, 13, 12.45, UnitId=2),
        ],
    ),
    "a unit turns out to be of another project, and an unknown one is sold": (
        NOON,
        [event("u", 4, 21, 12.46, UnitId=1, ProjectId=20), signed(7, 22, 12.46, unit=77, agent=5, amount="1.0000")],
    ),
    "a signing date moves to another day": (
        NOON,
        [event("u", 1, 31, 12.47, ContractSigningDate=MIDNIGHT_MS - HOUR_MS)],
    ),
    "only the clock moves: two hours leave": (NOON + 2 * HOUR, []),
    "an older clock, and events late by hours": (
        NOON - 3 * HOUR,
        [event("u", 4, 41, 13.5, UnitId=1), event("u", 4, 42, -11.9, UnitId=1), event("u", 4, 43, 1, UnitId=1)],
    ),
    "the next day, with no deal yet": (NOON + DAY, []),
    "a week later nothing is left": (NOON + 7 * DAY, []),
    "and then there is a deal again": (
        NOON + 7 * DAY,
        [event("u", 4, 51, 7 * 24 + 12, UnitId=1, AgentId=5, ContractSigningDate=MIDNIGHT_MS + 7 * 24 * HOUR_MS)],
    ),
}


def refresh(lake: Lake, name: str, lines: list[bytes], clock: datetime) -> None:
    if lines:
        lake.land(f"{name}.jsonl", lines)
        lake.run("ingest")
        lake.run("split")
    lake.run("mart", layer="fast", clock=clock)


@pytest.mark.slice(name="laws-marts")
def test_the_marts_follow_the_story(lake):
    delivered: list[bytes] = []
    latest, with_rows = NOON, set[str]()
    for name, (clock, lines) in CHAPTERS.items():
        delivered += lines
        latest = max(latest, clock)
        refresh(lake, name, lines, clock)
        assert_marts_equal_oracle(lake, delivered, latest)
        before = lake.instants()
        assert lake.run("mart", layer="fast", clock=latest - 5 * HOUR).status == "nothing_to_do"
        assert lake.instants() == before
        for table in ("fast_hourly_events", "fast_daily_deals"):
            by_rust = {row["cell_id"]: row for row in lake.rows(table)}
            assert by_rust == {row["cell_id"]: row for row in lake.rows_by_spark(table)}
            with_rows |= {table} if by_rust else set()
    assert with_rows == {"fast_hourly_events", "fast_daily_deals"}


def test_without_its_file_a_mart_knows_its_clock_and_place(lake):
    _, lines = next(iter(CHAPTERS.values()))
    refresh(lake, "one", lines, NOON)
    for file in (lake.folder / "lake" / ".consumers").glob("fast_*.json"):
        file.unlink()
    before = lake.instants()
    assert lake.run("mart", layer="fast", clock=NOON - 5 * HOUR).status == "nothing_to_do"
    assert lake.instants() == before
    assert_marts_equal_oracle(lake, lines, NOON)
