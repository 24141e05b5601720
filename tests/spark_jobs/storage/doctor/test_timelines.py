"""Writes that did not end, by their heartbeats: at work, stuck, dead; and services that were cut off."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contracts.instants import format_instant
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.doctor.timelines import check_timeline
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)


def found(folder: Path) -> list[Finding]:
    timeline = Timeline(table="units", path=str(folder))
    return list(check_timeline(timeline, ServiceTargets(), datetime.now(UTC)))


@pytest.mark.parametrize(
    ("begun", "beat", "ailment"),
    [
        (timedelta(minutes=1), timedelta(), None),
        (timedelta(hours=1), timedelta(), None),
        (timedelta(hours=3), timedelta(), Ailment.PENDING_WRITE),
        (timedelta(minutes=5), timedelta(minutes=2), Ailment.DEAD_WRITER),
        (timedelta(hours=3), timedelta(hours=2), Ailment.DEAD_WRITER),
        (timedelta(minutes=1), None, Ailment.PENDING_WRITE),
    ],
)
def test_a_write_is_judged_by_its_heartbeat(
    tmp_path: Path, begun: timedelta, beat: timedelta | None, ailment: Ailment | None
):
    now = datetime.now(UTC)
    instant = format_instant(now - begun)
    units = MadeTable(UNITS, tmp_path / "units").commits(1).pending(int(instant), "deltacommit")
    if beat is not None:
        file = units.folder / ".hoodie/.heartbeat" / instant
        file.parent.mkdir()
        file.touch()
        os.utime(file, ((now - beat).timestamp(),) * 2)
    findings = found(units.folder)
    assert [each.ailment for each in findings] == ([ailment] if ailment else [])
    assert all(instant in each.what and "consumers wait below it" in each.what for each in findings)


@pytest.mark.parametrize("action", ["clean", "rollback"])
@pytest.mark.parametrize(("minutes", "is_found"), [(5, False), (61, True)])
def test_a_service_that_was_cut_off_is_named_once_it_is_old(tmp_path: Path, action: str, minutes: int, is_found: bool):
    units = MadeTable(UNITS, tmp_path / "units").commits(1).pending(2, action)
    moment = (datetime.now(UTC) - timedelta(minutes=minutes)).timestamp()
    for path in (units.folder / ".hoodie").glob(f"*{action}*"):
        os.utime(path, (moment, moment))
    findings = found(units.folder)
    assert [each.ailment for each in findings] == ([Ailment.PENDING_SERVICE] if is_found else [])
