"""The table services of a day that is run as fast as it goes: how old something is goes by the batches since then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest.mock import patch

from pyspark.sql import SparkSession

from bench.lake import run_job
from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.storage.services.kinds import compaction
from spark_jobs.storage.services.state import UnmergedGroup

START = datetime(2026, 6, 1, tzinfo=UTC)
BATCH = timedelta(minutes=5)
SERVICES_EVERY = 6
"""Batches between two looks of the DAG `table_services`."""


def run_services(spark: SparkSession, settings: Settings, instants: Sequence[Instant]) -> None:
    """Run what is due after so many batches, each of which had committed by its instant.

    By the clock of `service_clock` all that is younger than six hours would be nearly six hours old: for compaction,
    which is due after an hour, batches are counted.
    """
    with patch.object(compaction, "_is_late", partial(is_late, instants)):
        run_job(spark, settings, "services", service_clock(instants), action="run")


def service_clock(instants: Sequence[Instant]) -> datetime:
    """A clock by which the commit of six hours ago is six hours old, whatever time the batches really took."""
    hours = timedelta(hours=6)
    ago = instants[max(len(instants) - 1 - int(hours / BATCH), 0)]
    return moment_of(ago) + hours


def is_late(instants: Sequence[Instant], group: UnmergedGroup, targets: ServiceTargets, _clock: datetime) -> bool:
    """Whether a base file has lacked a write for too long, by the batches after the one that wrote it."""
    minutes = targets.minutes_for(group.base)
    if minutes is None or not group.since:
        return False
    after = sum(instant >= group.since for instant in instants) - 1
    return after * BATCH >= timedelta(minutes=minutes)
