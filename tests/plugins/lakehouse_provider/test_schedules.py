"""When the DAGs run, and which event dates a run reads again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import pytest
from airflow.sdk import AssetAny
from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.assets import LakeAssets
from lakehouse_provider.schedules import (
    DEFAULT_INGEST_CRON,
    catalog_schedule,
    event_interval,
    ingest_schedule,
    recompute_dates,
)
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

VARIABLE = "AIRFLOW_VAR_LAKEHOUSE_INGEST_CRON"


@dataclass
class Run:
    run_type: str
    logical_date: datetime | None = None


DAY = datetime(2026, 3, 1, tzinfo=UTC)
NEXT_DAY = datetime(2026, 3, 2, tzinfo=UTC)
RUN_TYPES = ("scheduled", "manual", "asset_triggered", "backfill")


def test_ingest_runs_every_five_minutes_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert ingest_schedule().expression == DEFAULT_INGEST_CRON == "*/5 * * * *"


def test_the_variable_sets_another_cron(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "7 * * * *")
    assert ingest_schedule().expression == "7 * * * *"


@pytest.mark.parametrize("text", ["every now and then", "61 * * * *", "* *"])
def test_a_wrong_cron_warns_and_leaves_the_dag_alive(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.warns(UserWarning, match="lakehouse_ingest_cron=.* is not a cron expression"):
        assert ingest_schedule().expression == DEFAULT_INGEST_CRON


@pytest.mark.parametrize(
    ("own", "shared", "cron"),
    [
        ("1 * * * *", "7 * * * *", "1 * * * *"),
        ("", "7 * * * *", "7 * * * *"),
        (None, "7 * * * *", "7 * * * *"),
        (None, None, "*/5 * * * *"),
    ],
)
def test_a_lakes_own_cron_goes_before_the_one_of_all_lakes(
    monkeypatch: pytest.MonkeyPatch, own: str | None, shared: str | None, cron: str
) -> None:
    for name, value in ((f"{VARIABLE}_SHOP", own), (VARIABLE, shared), (f"{VARIABLE}_SALES", "9 * * * *")):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert ingest_schedule("shop").expression == cron


def test_a_lakes_wrong_cron_is_not_covered_up_by_the_one_of_all_lakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{VARIABLE}_SHOP", "often")
    monkeypatch.setenv(VARIABLE, "7 * * * *")
    with pytest.warns(UserWarning, match="lakehouse_ingest_cron_shop='often' is not a cron expression"):
        assert ingest_schedule("shop").expression == DEFAULT_INGEST_CRON


def test_an_empty_variable_is_no_cron(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert ingest_schedule().expression == DEFAULT_INGEST_CRON


@pytest.mark.parametrize("run_type", ["scheduled", "manual", "asset_triggered"])
def test_only_backfills_read_dates_again(run_type: str) -> None:
    assert event_interval(Run(run_type, DAY), {}) is None


def test_a_backfill_run_reads_its_date() -> None:
    interval = event_interval(Run("backfill", DAY), {"from_date": None, "to_date": None})
    assert interval is not None
    assert (interval.start, interval.end) == (DAY, NEXT_DAY)


def test_the_forms_last_date_is_included() -> None:
    interval = event_interval(Run("manual"), {"from_date": "2026-03-01", "to_date": "2026-03-01"})
    assert interval is not None
    assert (interval.start, interval.end) == (DAY, NEXT_DAY)


@pytest.mark.parametrize(
    ("first", "last"), [("2026-03-01", None), (None, "2026-03-01"), ("", "2026-03-01"), ("2026-03-02", "2026-03-01")]
)
@pytest.mark.parametrize("run_type", ["manual", "backfill"])
def test_a_form_with_one_date_or_with_the_last_before_the_first_is_refused(
    run_type: str, first: str | None, last: str | None
) -> None:
    with pytest.raises(ContractError):
        event_interval(Run(run_type, DAY), {"from_date": first, "to_date": last})


@given(day=st.dates(date(2015, 1, 1), date(2040, 1, 1)), days=st.integers(0, 400), run_type=st.sampled_from(RUN_TYPES))
def test_the_interval_of_a_form_is_its_days_whatever_starts_the_run(day: date, days: int, run_type: str) -> None:
    form = {"from_date": day.isoformat(), "to_date": (day + timedelta(days=days)).isoformat()}
    interval = event_interval(Run(run_type, DAY), form)
    assert interval is not None
    assert interval.start == datetime.combine(day, time(), UTC)
    assert interval.end - interval.start == timedelta(days=days + 1)


@given(day=st.dates(date(2015, 1, 1), date(2040, 1, 1)))
def test_the_months_of_a_recompute_backfill_are_whole_and_meet(day: date) -> None:
    dates = recompute_dates(Run("backfill", datetime.combine(day, time(), UTC)), {})
    first, last = (date.fromisoformat(dates[name]) for name in ("from", "to"))
    assert first <= day <= last
    assert (first.day, (last + timedelta(days=1)).day) == (1, 1)
    assert (first.year, first.month) == (last.year, last.month)


def test_a_catalog_follows_every_table_when_there_is_one() -> None:
    assets = LakeAssets(load_lake_spec(Settings().lake_spec)).all
    assert catalog_schedule(assets, Settings()) is None
    schedule = catalog_schedule(assets, Settings(catalog="thrift://metastore:9083"))
    assert schedule is not None
    assert isinstance(schedule.asset_condition, AssetAny)
    assert list(schedule.asset_condition.objects) == assets
