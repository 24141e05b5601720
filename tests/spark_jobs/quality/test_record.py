"""When a table is due to be checked again, and the figures of days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import Row

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.expectations import Expectation, Figure, Kind
from spark_jobs.quality.record import AuditCheckpoint, _figure

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "seconds", "is_due"),
    [(30, 1799, False), (30, 1800, True), (30, 1801, True), (0, 0, True), (1440, 86399, False), (1440, 86400, True)],
)
def test_a_table_is_due_when_so_many_minutes_are_over(minutes: int, seconds: int, is_due: bool):
    checked = AuditCheckpoint(instant=Instant("7"), at=format_clock(NOON))
    assert checked.is_older_than(minutes, NOON + timedelta(seconds=seconds)) is is_due


def test_a_table_that_never_was_checked_is_due():
    assert AuditCheckpoint().is_older_than(10**6, NOON)


@pytest.mark.parametrize(("figure", "value"), [(Figure.ROWS, 200.0), (Figure.NULLS, 0.25), (Figure.MEAN, 7.5)])
def test_the_figure_of_a_day(figure: Figure, value: float):
    columns = () if figure is Figure.ROWS else ("amount",)
    each = Expectation(table="orders", name="as_usual", kind=Kind.USUAL, usual=figure, columns=columns)
    assert _figure(each, Row(checked=200, broken=50, mean=7.5)) == value
