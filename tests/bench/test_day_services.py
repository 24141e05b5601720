"""A day of 100 batches, one a second: by the clock alone all would be as old as the batch of six hours ago."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bench.day_services import BATCH, is_late, service_clock
from spark_jobs.contracts.instants import format_instant, moment_of
from spark_jobs.lake_spec.services import FRESH_BASE, ServiceTargets
from spark_jobs.storage.services.state import UnmergedGroup

BEGIN = datetime(2026, 11, 30, tzinfo=UTC)
INSTANTS = [format_instant(BEGIN + timedelta(seconds=number)) for number in range(100)]
GROUP = UnmergedGroup(partition="", id="a", base=1_000, logs=(10,), since=INSTANTS[87])
HOURLY = ServiceTargets(compact_minutes=60)


def test_the_batch_of_six_hours_ago_is_six_hours_old():
    assert service_clock(INSTANTS) - moment_of(INSTANTS[99 - 72]) == timedelta(hours=6)
    assert service_clock(INSTANTS[:5]) - moment_of(INSTANTS[0]) == timedelta(hours=6)


def test_a_base_file_is_late_an_hour_of_batches_after_the_write_it_lacks():
    assert timedelta(hours=1) / BATCH == 12
    assert is_late(INSTANTS, GROUP, HOURLY, BEGIN)
    assert not is_late(INSTANTS[:-1], GROUP, HOURLY, BEGIN)


@pytest.mark.parametrize(
    ("group", "targets"),
    [
        (replace(GROUP, base=2 * FRESH_BASE), HOURLY),
        (replace(GROUP, since=""), HOURLY),
        (GROUP, ServiceTargets(compact_minutes=None)),
    ],
    ids=["larger", "nothing written", "by log files alone"],
)
def test_a_larger_base_file_is_late_later_and_others_never(group: UnmergedGroup, targets: ServiceTargets):
    assert not is_late(INSTANTS, group, targets, BEGIN)
