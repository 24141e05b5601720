"""Alerts: to a service that listens, to one that refuses, and without a connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from lakehouse_provider import alerts
from lakehouse_provider.alerts import (
    MOST_CHARACTERS,
    LakehouseAlert,
    LateRunAlert,
    all_clear,
    deadline_alert,
    failure_alert,
    ongoing_alert,
    send_decisions,
)
from tests.support.alert_services import AlertService, KeptVariables, running_alert_service

VARIABLE = "AIRFLOW_CONN_LAKEHOUSE_ALERTS"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[AlertService]:
    with running_alert_service() as service:
        monkeypatch.setenv(VARIABLE, service.connection)
        yield service


def failed(**more: Any) -> dict[str, Any]:
    """What Airflow says of a task that failed."""
    task = SimpleNamespace(dag_id="fast_layer", task_id="fast", try_number=2)
    return {"ti": task, "run_id": "manual__1", "exception": RuntimeError("no room left"), **more}


def test_a_failure_is_reported_with_its_reason(service: AlertService):
    failure_alert()(failed())
    assert service.received == [("fast_layer.fast failed", "no room left\n\nrun manual__1, try 2")]


def test_a_process_that_ended_without_a_message_is_reported_too(service: AlertService):
    failure_alert()(failed(exception=None))
    assert service.received[0][1].startswith("its process exited without an error message")


def test_what_a_reason_says_is_no_template(service: AlertService):
    failure_alert()(failed(exception=RuntimeError("{{ 7 * 7 }}")))
    assert service.received[0][1].startswith("{{ 7 * 7 }}")


def test_a_very_long_reason_is_cut_off(service: AlertService):
    failure_alert()(failed(exception=RuntimeError("x" * 100_000)))
    assert len(service.received[0][1]) == MOST_CHARACTERS


def test_an_alert_that_was_not_taken_is_no_alert(service: AlertService):
    service.is_refusing = True
    with pytest.raises(AirflowException, match=r"lakehouse_alerts did not take the alert 'fast_layer.fast failed'"):
        failure_alert()(failed())


def test_without_a_connection_the_log_says_that_no_alert_was_sent(
    monkeypatch: pytest.MonkeyPatch, service: AlertService
):
    monkeypatch.delenv(VARIABLE)
    alert, warnings = LakehouseAlert(title="a title", body="a body"), list[str]()
    monkeypatch.setattr(type(alert), "log", SimpleNamespace(warning=lambda text, *words: warnings.append(text % words)))
    alert(failed())
    assert warnings == ["no alert was sent, there is no connection lakehouse_alerts: a title: a body"]
    assert service.received == []


def test_decisions_are_sent_line_by_line(service: AlertService):
    send_decisions("ingest_sales.ingest", ("column a came as string", "column b came as int"))
    title = "ingest_sales.ingest: a decision is needed"
    assert service.received == [(title, "column a came as string"), (title, "column b came as int")]


def test_a_service_that_does_not_take_it_fails_no_task(service: AlertService):
    service.is_refusing = True
    send_decisions("ingest_sales.ingest", ["column a came as string"])
    assert service.received == []


@pytest.mark.parametrize(("run_type", "count"), [("scheduled", 1), ("asset_triggered", 1), ("backfill", 0)])
def test_a_late_run_is_reported_unless_it_waits_in_a_backfill(service: AlertService, run_type: str, count: int):
    callback = deadline_alert("fast_layer", minutes=15).callback
    assert callback.path == f"{LateRunAlert.__module__}.{LateRunAlert.__name__}"
    LateRunAlert(**callback.kwargs)({"dag_run": {"dag_run_id": "run 7", "run_type": run_type}})
    body = "run run 7 is not at its end 15 minutes after it was queued; docs/runbooks/late-run.md says what to look at"
    assert service.received == [("fast_layer is late", body)] * count


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> KeptVariables:
    kept = KeptVariables()
    monkeypatch.setattr(alerts, "Variable", kept)
    return kept


def test_what_lasts_is_reported_once_until_it_changes_or_a_day_went_by(service: AlertService, variables: KeptVariables):
    for reason, count in (("units late", 1), ("units late", 1), ("agents late", 2), ("agents late", 2)):
        ongoing_alert()(failed(exception=RuntimeError(reason)))
        assert len(service.received) == count, reason
    (key,) = variables.kept
    assert key == "lakehouse_told_fast_layer_fast"
    yesterday = {**json.loads(variables.kept[key]), "at": "2026-01-01T00:00:00+00:00"}
    variables.set(key, yesterday, serialize_json=True)
    ongoing_alert()(failed(exception=RuntimeError("agents late")))
    assert len(service.received) == 3


def test_that_it_is_over_is_reported_once_and_then_it_is_news_again(service: AlertService, variables: KeptVariables):
    all_clear()(failed())
    assert service.received == []
    ongoing_alert()(failed())
    all_clear()(failed())
    all_clear()(failed())
    ongoing_alert()(failed())
    titles = [title for title, _ in service.received]
    assert titles == ["fast_layer.fast failed", "fast_layer.fast recovered", "fast_layer.fast failed"]


def test_an_alert_that_reached_no_one_is_sent_as_soon_as_a_service_takes_it(
    monkeypatch: pytest.MonkeyPatch, service: AlertService, variables: KeptVariables
):
    monkeypatch.delenv(VARIABLE)
    ongoing_alert()(failed())
    service.is_refusing = True
    monkeypatch.setenv(VARIABLE, service.connection)
    with pytest.raises(AirflowException):
        ongoing_alert()(failed())
    service.is_refusing = False
    assert variables.kept == {}
    ongoing_alert()(failed())
    assert len(variables.kept) == 1


@pytest.mark.parametrize(("hours", "count"), [(0.1, 0), (12, 0), (23.9, 0), (24.1, 1), (48, 1)])
def test_what_lasts_is_reported_again_after_a_day_and_not_before(
    service: AlertService, variables: KeptVariables, hours: float, count: int
):
    ongoing_alert()(failed())
    (key,) = variables.kept
    at = datetime.now(UTC) - timedelta(hours=hours)
    variables.set(key, {**json.loads(variables.kept[key]), "at": at.isoformat()}, serialize_json=True)
    service.received.clear()
    ongoing_alert()(failed())
    assert len(service.received) == count
    again = datetime.fromisoformat(json.loads(variables.kept[key])["at"])
    assert (again > at) == bool(count), "the day begins with the last alert"


def test_each_task_has_its_own_alerts(service: AlertService, variables: KeptVariables):
    tasks = [(dag, name) for dag in ("freshness", "fast_layer") for name in ("check", "fast")]
    for dag_id, task_id in tasks:
        ongoing_alert()(failed(ti=SimpleNamespace(dag_id=dag_id, task_id=task_id, try_number=1)))
    assert [title for title, _ in service.received] == [f"{dag_id}.{task_id} failed" for dag_id, task_id in tasks]
    service.received.clear()
    all_clear()(failed(ti=SimpleNamespace(dag_id="freshness", task_id="check", try_number=1)))
    assert [title for title, _ in service.received] == ["freshness.check recovered"]
    assert len(variables.kept) == 3


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[AlertService]]:
    with running_alert_service() as one, running_alert_service() as two, running_alert_service() as three:
        found = [one, two, three]
        config = [entry for each in found for entry in json.loads(each.connection)["extra"]["config"]]
        monkeypatch.setenv(VARIABLE, json.dumps({"conn_type": "apprise", "extra": {"config": config}}))
        yield found


def test_every_service_of_the_connection_gets_the_alert(services: list[AlertService]):
    failure_alert()(failed())
    assert [len(each.received) for each in services] == [1, 1, 1]


@pytest.mark.parametrize("refusing", [0, 1, 2])
def test_one_service_that_does_not_take_it_keeps_none_of_the_others_from_it(
    services: list[AlertService], refusing: int
):
    services[refusing].is_refusing = True
    with pytest.raises(AirflowException, match="did not take the alert"):
        failure_alert()(failed())
    assert [len(each.received) for each in services] == [int(number != refusing) for number in range(3)]


def test_a_decision_that_is_not_taken_does_not_hold_back_the_others(service: AlertService):
    send_decisions("ingest_sales.ingest", [f"column {name}" for name in "abc"])
    assert [body for _, body in service.received] == ["column a", "column b", "column c"]
