"""Alerts of several lakes, and those of late runs, to which Airflow denies the connections of its own database."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowException, AirflowSecretsBackendAccessDenied

from lakehouse_provider import alerts
from lakehouse_provider.alerts import (
    LakehouseAlert,
    LateRunAlert,
    all_clear,
    deadline_alert,
    failure_alert,
    ongoing_alert,
    send_decisions,
)
from tests.support.alert_services import AlertService, KeptVariables, running_alert_service

SHARED = "AIRFLOW_CONN_LAKEHOUSE_ALERTS"
OWN = {lake: f"{SHARED}_{lake.upper()}" for lake in ("sales", "shop")}
LATE_RUN: Any = {"dag_run": {"dag_run_id": "run 7", "run_type": "scheduled"}}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[AlertService]:
    """That of the connection that all lakes share."""
    with running_alert_service() as service:
        monkeypatch.setenv(SHARED, service.connection)
        yield service


def failed() -> Any:
    """What Airflow says of a task that failed."""
    task = SimpleNamespace(dag_id="fast_layer", task_id="fast", try_number=2)
    return {"ti": task, "run_id": "manual__1", "exception": RuntimeError("no room left")}


def send_all(lake: str) -> int:
    """Send one alert of each kind; gives their number."""
    late = deadline_alert("fast_layer", minutes=15, lake=lake).callback.kwargs
    due = ((failure_alert(lake), failed()), (ongoing_alert(lake), failed()), (LateRunAlert(**late), LATE_RUN))
    for alert, about in due:
        alert(about)
    all_clear(lake)(failed())
    send_decisions("ingest.ingest", ["column a"], lake=lake)
    return 5


@pytest.mark.parametrize("own", OWN)
def test_a_lakes_own_connection_gets_its_alerts_and_hides_those_of_no_other_lake(
    monkeypatch: pytest.MonkeyPatch, service: AlertService, own: str
):
    monkeypatch.setattr(alerts, "Variable", KeptVariables())
    with running_alert_service() as of_lake:
        monkeypatch.setenv(OWN[own], of_lake.connection)
        for lake in (*OWN, "", "north"):
            service.received.clear()
            of_lake.received.clear()
            count = send_all(lake)
            assert (len(of_lake.received), len(service.received)) == ((count, 0) if lake == own else (0, count)), lake


def test_an_own_connection_that_does_not_take_it_is_not_covered_up_by_the_shared_one(
    monkeypatch: pytest.MonkeyPatch, service: AlertService
):
    with running_alert_service() as of_shop:
        of_shop.is_refusing = True
        monkeypatch.setenv(OWN["shop"], of_shop.connection)
        with pytest.raises(AirflowException, match="connection lakehouse_alerts_shop did not take the alert"):
            failure_alert("shop")(failed())
    assert service.received == []


class Denied:
    """Airflow's connections as the callback of a deadline sees them: denied, but for those of the environment."""

    def __init__(self, *known: str) -> None:
        self.known = known

    def get(self, conn_id: str) -> Any:
        if conn_id in self.known:
            return Connection.get(conn_id)
        raise AirflowSecretsBackendAccessDenied(f"Access denied for connection {conn_id!r} by Execution API")


def run_late(monkeypatch: pytest.MonkeyPatch, connections: Denied, lake: str) -> list[str]:
    """What the log of a late run's alert warns of."""
    warnings = list[str]()
    log = SimpleNamespace(warning=lambda text, *words: warnings.append(text % words), info=lambda *_words: None)
    monkeypatch.setattr(alerts, "Connection", connections)
    monkeypatch.setattr(LakehouseAlert, "log", log)
    LateRunAlert(title="fast_layer is late", body="a body", lake=lake)(LATE_RUN)
    return warnings


def test_a_late_run_whose_connection_airflow_denies_is_in_the_log_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, service: AlertService
):
    denied, unsent = run_late(monkeypatch, Denied(), "")
    assert "set it as AIRFLOW_CONN_LAKEHOUSE_ALERTS or keep it in a secrets backend (docs/alerts.md)" in denied
    assert unsent.endswith("fast_layer is late: a body")
    assert service.received == []


def test_a_late_run_of_a_lake_whose_own_connection_is_denied_goes_to_the_shared_one(
    monkeypatch: pytest.MonkeyPatch, service: AlertService
):
    (denied,) = run_late(monkeypatch, Denied("lakehouse_alerts"), "shop")
    assert "set it as AIRFLOW_CONN_LAKEHOUSE_ALERTS_SHOP or" in denied
    assert service.received == [("fast_layer is late", "a body")]
