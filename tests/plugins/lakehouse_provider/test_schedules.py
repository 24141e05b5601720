"""When the DAGs run, and which event dates a run reads again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from airflow.sdk import AssetAny

from lakehouse_provider.assets import load_assets
from lakehouse_provider.schedules import DEFAULT_INGEST_CRON, catalog_schedule, event_interval, ingest_schedule

VARIABLE = "AIRFLOW_VAR_LAKEHOUSE_INGEST_CRON"


@dataclass
class Run:
    run_type: str
    logical_date: datetime | None = None


DAY = datetime(2026, 3, 1, tzinfo=UTC)
NEXT_DAY = datetime(2026, 3, 2, tzinfo=UTC)


def test_ingest_runs_every_five_minutes_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_catalog_follows_every_table_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assets = load_assets().all
    monkeypatch.delenv("LAKEHOUSE_CATALOG", raising=False)
    assert catalog_schedule(assets) is None
    monkeypatch.setenv("LAKEHOUSE_CATALOG", "thrift://metastore:9083")
    schedule = catalog_schedule(assets)
    assert schedule is not None
    assert isinstance(schedule.asset_condition, AssetAny)
    assert list(schedule.asset_condition.objects) == assets
