"""The marts' transforms against the oracle, on random logs and tables small enough that groups and hours collide."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import DailyTotalsSpec, HourlyEventsSpec
from spark_jobs.jobs.fast_hourly import window_hours
from spark_jobs.transforms.marts import count_hourly_events, daily_columns, hourly_columns, total_of_day
from tests.support.lakes import in_utc
from tests.support.oracle import Event, Tables
from tests.support.oracle_marts import daily_deals, hourly_events

SPEC = load_lake_spec(Settings().lake_spec)
HOURLY, DAILY = SPEC.marts
CLOCK = datetime(2026, 3, 1, 0, 5, tzinfo=UTC)


def test_the_window_is_the_clocks_hour_and_those_before_it():
    hours = window_hours(CLOCK, 3)
    assert hours == [
        datetime(2026, 2, 28, 22, tzinfo=UTC),
        datetime(2026, 2, 28, 23, tzinfo=UTC),
        CLOCK.replace(minute=0),
    ]


def random_events(rng: random.Random) -> list[Event]:
    """Events of four days, some exactly at the first or last moment of an hour; some with unknown groups."""
    events = []
    for number in range(200):
        hour = CLOCK.replace(minute=0) + timedelta(hours=rng.randint(-48, 48))
        moment = hour + rng.choice(
            (timedelta(), timedelta(minutes=59, seconds=59, microseconds=999_999), timedelta(minutes=30))
        )
        row = {name: rng.choice((1, 2)) for name in ("project_id", "status_id") if rng.random() < 0.8}
        events.append(Event(origin="erp", order=((number,), ""), op=rng.choice("cud"), time=moment, row=row))
    return events


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(3))
def test_hours_are_counted_as_the_oracle_counts(spark, seed):
    assert isinstance(HOURLY, HourlyEventsSpec)
    events = random_events(random.Random(seed))
    rows = [(str(e.order), e.time, e.row.get("project_id"), e.row.get("status_id")) for e in [*events, *events[:20]]]
    log_df = spark.createDataFrame(rows, "event_id string, event_time timestamp, project_id bigint, status_id bigint")
    cells_df = count_hourly_events(log_df, HOURLY, window_hours(CLOCK, HOURLY.hours))
    assert tuple(cells_df.columns) == hourly_columns(HOURLY)
    cells = [row.asDict() for row in cells_df.collect()]
    counts = {(in_utc(c["event_hour"]), c["project_id"], c["status_id"]): c["events"] for c in cells}
    assert counts == hourly_events(events, CLOCK)
    assert len({cell["cell_id"] for cell in cells}) == len(cells) == len(counts) > 0


def random_tables(rng: random.Random) -> Tables:
    """Sales of three days around the clock's, at midnights too; units 1 to 3 known, 4 unknown, 5 without a project."""
    midnight = CLOCK.replace(hour=0, minute=0)
    units: dict[int, dict[str, Any]] = {n: {"unit_name": "u", "building_id": 1, "project_id": n % 2} for n in (1, 2, 3)}
    units[5] = dict.fromkeys(("unit_name", "building_id", "project_id"))
    sales = {}
    for number in range(60):
        day = midnight + timedelta(days=rng.choice((-1, 0, 0, 0, 1)))
        signed = day + rng.choice((timedelta(), timedelta(hours=12), timedelta(hours=24) - timedelta(microseconds=1)))
        sales[number] = {
            "unit_id": rng.choice((None, 1, 2, 3, 4, 5)),
            "status_id": None,
            "contract_subtotal": rng.choice(
                (None, Decimal("0.0001"), Decimal("99999999999999.9999"), Decimal("-5.0000"))
            ),
            "contract_signing_date": rng.choice((signed, signed, signed, None)),
            "agent_id": rng.choice((None, 1, 2)),
            "customer_id": None,
            "is_deleted": False,
        }
    return {"units": units, "sales": sales}


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(3))
def test_deals_are_totalled_as_the_oracle_totals(spark, seed):
    assert isinstance(DAILY, DailyTotalsSpec)
    tables = random_tables(random.Random(seed))
    names = ("unit_id", "contract_subtotal", "contract_signing_date", "agent_id")
    sales_df = spark.createDataFrame(
        [(key, *(row[name] for name in names)) for key, row in tables["sales"].items()],
        "sale_id bigint, unit_id bigint, contract_subtotal decimal(18,4), contract_signing_date timestamp, "
        "agent_id bigint",
    )
    units_df = spark.createDataFrame(
        [(key, row["project_id"]) for key, row in tables["units"].items()], "unit_id bigint, project_id bigint"
    )
    cells_df = total_of_day(sales_df, units_df, DAILY, CLOCK.date())
    assert tuple(cells_df.columns) == daily_columns(DAILY)
    cells = [row.asDict() for row in cells_df.collect()]
    deals = {(c["day"], c["project_id"], c["agent_id"]): (c["deals"], c["contract_total"]) for c in cells}
    assert deals == daily_deals(tables, CLOCK)
    assert len({cell["cell_id"] for cell in cells}) == len(cells) == len(deals) > 0
