"""What the exporter says of the lake of tests/support/seen_lakes.py, half an hour after it began."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.metric_names import LAKE_STATE, Metric
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.lake import read_lake
from spark_jobs.overview.samples import quarantine_samples, samples_of
from tests.support.seen_lakes import MART, NOW, SPEC, SeenLake, empty_lake, minute, seen_lake

Found = dict[tuple[str, ...], float]


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    return seen_lake(tmp_path)


def look(lake: SeenLake) -> Found:
    samples = list(samples_of(read_lake(lake.spec, lake.settings, NOW, cache=LakeCache())))
    assert all(len(each.labels) == len(each.metric.labels) for each in samples)
    found = {(each.metric.name, *each.labels): each.value for each in samples}
    assert len(found) == len(samples), "Prometheus refuses two values of the same series"
    return found


def of(found: Found, metric: Metric, *labels: str) -> float | None:
    return found.get((metric.name, *labels))


def test_freshness_is_the_age_of_the_newest_event_and_of_what_waits(lake: SeenLake) -> None:
    found = look(lake)
    assert of(found, names.FRESHNESS, "sales_log") == 25 * 60
    assert of(found, names.FRESHNESS, "units") == 27 * 60
    assert of(found, names.WAITING, "units") == 25 * 60
    assert of(found, names.WAITING_PROMISED, "units") == 60 * SPEC.freshness.behind_minutes
    assert of(found, names.FRESHNESS_PROMISED, "units") == 60 * SPEC.freshness.event_minutes
    assert of(found, names.FRESHNESS, "quarantine") is None


def test_a_table_is_counted_by_files_commits_and_what_is_pending(lake: SeenLake) -> None:
    lake.table("units").pending(int(minute(8)), "deltacommit")
    found = look(lake)
    assert of(found, names.FILES, "units", "log") == 2
    assert of(found, names.BYTES, "units", "base") == 1000
    assert of(found, names.TIMELINE, "units") == 2
    assert of(found, names.TIMELINE_TARGET, "units") == SPEC.targets("units").archive_commits
    assert of(found, names.PENDING_PLANS, "units") == 1
    assert of(found, names.PENDING_WRITES, "units") == 1
    assert of(found, names.PENDING_SECONDS, "units") == 24 * 60
    assert of(found, names.PENDING_SECONDS, "sales") == 0
    assert of(found, names.LAST_COMMIT, "units") == NOW.timestamp() - 26 * 60


def test_consumers_have_lag_and_headroom_or_are_lost(lake: SeenLake) -> None:
    lake.consumer("late", sales_log=minute(3))
    found = look(lake)
    assert of(found, names.LAG, "audit", "sales_log") == 2
    assert of(found, names.LAG_SECONDS, "audit", "sales_log") == 27 * 60
    assert of(found, names.HEADROOM, "audit", "sales_log") == 0, "its place is the oldest commit"
    assert of(found, names.LAG, "late", "sales_log") == 1
    assert of(found, names.HEADROOM, "late", "sales_log") == 1
    assert of(found, names.LOST, "late", "sales_log") == 0
    assert of(found, names.LOST, "lost", "sales_log") == 1
    assert of(found, names.LAG, "lost", "sales_log") is None, "behind by nobody knows how much"


def test_holds_and_failed_expectations_are_there(lake: SeenLake) -> None:
    found = look(lake)
    assert of(found, names.HELD, "customers") == 1
    assert of(found, names.HELD_SECONDS, "customers") == 30 * 60
    assert of(found, names.EXPECTATION_FAILED, "customers", "id", "stopped") == 1
    assert of(found, names.EXPECTATION_FAILED, MART, "deals_are_few", "warned") == 1
    assert of(found, names.HELD, "units") == 0


def test_a_table_that_cannot_be_read_says_so_and_hides_no_other(lake: SeenLake) -> None:
    properties = lake.table("sales").folder / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("version=6", "version=8"))
    found = look(lake)
    assert of(found, names.READABLE, "sales") == 0
    assert of(found, names.TIMELINE, "sales") is None
    assert of(found, names.READABLE, "units") == 1
    assert of(found, names.TIMELINE, "units") == 2


def test_an_empty_lake_has_no_ages(tmp_path: Path) -> None:
    found = look(empty_lake(tmp_path))
    assert of(found, names.READABLE, "sales") == 1
    assert of(found, names.TIMELINE, "sales") == 0
    assert of(found, names.WAITING, "sales") == 0
    assert [key for key in found if key[0] in (names.FRESHNESS.name, names.LAST_COMMIT.name)] == []


def test_every_metric_of_the_state_is_of_a_kind_that_is_read(lake: SeenLake) -> None:
    of_exporter = {names.READ_SECONDS.name, names.READ_ERRORS.name, names.QUARANTINE_OPEN.name}
    assert {key[0] for key in look(lake)} | of_exporter == {metric.name for metric in LAKE_STATE}


def test_open_records_are_by_reason() -> None:
    samples = list(quarantine_samples({"not_json": 3, "bad_integer": 0}))
    assert [(each.labels, each.value) for each in samples] == [(("bad_integer",), 0.0), (("not_json",), 3.0)]


def test_samples_hold_no_values_of_rows(lake: SeenLake) -> None:
    known = {*SPEC.table_names, "audit", "lost", "split", "base", "log", "id", "deals_are_few", "warned", "stopped"}
    labels = {label for key in look(lake) for label in key[1:]}
    assert labels <= known, json.dumps(sorted(labels - known))
