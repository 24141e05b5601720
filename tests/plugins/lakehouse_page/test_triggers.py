"""Runs that are started from the page: by Airflow's own route, and by the form of this page alone.

Airflow has the DAG ``fast_layer`` and no other; the lake is that of tests/support/seen_lakes.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from lakehouse_page import triggers
from spark_jobs.overview.kinds import kinds_of
from tests.support.airflow_pages import add_dag
from tests.support.seen_lakes import MART, SPEC, seen_lake

Page = Callable[..., TestClient]
START = f"/lakes/sales/tables/{MART}/trigger/fast_layer"


@pytest.fixture
def dag(airflow_tables: None, tmp_path: Path) -> Iterator[str]:
    """A DAG as Airflow has it once its file was parsed; its runs go with it."""
    from airflow.models import DagRun, Log
    from airflow.utils.session import create_session
    from sqlalchemy import delete

    seen_lake(tmp_path)
    add_dag("fast_layer")
    yield "fast_layer"
    with create_session() as session:
        session.execute(delete(DagRun))
        session.execute(delete(Log))


def runs() -> list[tuple[str, str, object]]:
    from airflow.models import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        return [(run.dag_id, str(run.triggering_user_name), run.conf) for run in session.scalars(select(DagRun))]


def audit_log() -> list[tuple[str, str, object, object]]:
    from airflow.models import Log
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.scalars(select(Log).order_by(Log.id))
        return [(line.event, str(line.dag_id), line.owner, json.loads(str(line.extra))) for line in found]


def signed_of(client: TestClient, path: str = START) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    (signed,) = re.findall(r'name="signed" value="([^"]+)"', answer.text)
    return str(signed)


def test_a_run_is_started_after_a_look_at_what_it_does(page: Page, dag: str) -> None:
    client = page("USER")
    table = client.get(f"/lakes/sales/tables/{MART}").text
    assert f'{START}"' in table
    assert "trigger/table_services" not in table, "Airflow has no such DAG here"
    assert "Start a run of fast_layer?" in client.get(START).text
    assert runs() == [], "a look starts nothing"
    answer = client.post(START, data={"signed": signed_of(client)}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/dags/fast_layer/runs/manual__")
    assert runs() == [("fast_layer", "someone", {})]
    made = {"method": "POST", "note": "from the lake page", "conf": {}}
    assert audit_log() == [("trigger_dag_run", "fast_layer", "someone", made)]


@pytest.mark.parametrize("forged", ["", "x", "other act", "other secret", "old"])
def test_a_form_of_another_page_starts_nothing(
    page: Page, dag: str, forged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = page("USER")
    signed = forged
    if forged == "other act":
        signed = signed_of(client, "/lakes/sales/tables/fast_hourly_events/trigger/fast_layer")
    if forged == "other secret":
        with monkeypatch.context() as patch:
            patch.setattr(triggers, "get_signing_key", lambda *_: "another secret")
            signed = signed_of(client)
    if forged == "old":
        signed = signed_of(client)
        monkeypatch.setattr(triggers, "OLDEST_FORM", -1)
    answer = client.post(START, data={"signed": signed}, follow_redirects=False)
    assert answer.status_code == 403
    assert "open it again" in answer.text
    assert client.post(START, follow_redirects=False).status_code == 403
    assert (runs(), audit_log()) == ([], [])


def test_who_may_not_start_runs_sees_no_way_to(page: Page, dag: str) -> None:
    signed = signed_of(page("USER"))
    viewer = page("VIEWER")
    text = viewer.get(f"/lakes/sales/tables/{MART}").text
    assert "/trigger/" not in text
    assert viewer.get(START).status_code == 403
    assert viewer.post(START, data={"signed": signed}, follow_redirects=False).status_code == 403
    assert page(has_session=False).post(START, data={"signed": signed}, follow_redirects=False).status_code == 401
    assert runs() == []


def test_a_dag_that_is_paused_or_not_there_is_named(page: Page, dag: str) -> None:
    from airflow.models import DagModel
    from airflow.utils.session import create_session

    client = page("USER")
    assert "is paused" not in client.get(START).text
    with create_session() as session:
        session.get_one(DagModel, dag).is_paused = True
    assert "is paused: the run waits until it is unpaused" in client.get(START).text
    missing = f"/lakes/sales/tables/{MART}/trigger/table_services"
    assert client.get(missing).status_code == 404
    assert "Airflow has no DAG table_services" in client.get(missing).text


@pytest.mark.parametrize(
    "path", [f"tables/{MART}/trigger/split", "tables/none/trigger/split", "tables/units/trigger/x"]
)
def test_a_table_has_its_own_triggers_alone(page: Page, dag: str, path: str) -> None:
    assert page("USER").get(f"/lakes/sales/{path}").status_code == 404


def test_every_table_has_services_and_who_writes_it() -> None:
    found = {name: [each.kind for each in triggers.triggers_of(SPEC, name)] for name in kinds_of(SPEC)}
    assert {name: kinds[-1] for name, kinds in found.items()} == dict.fromkeys(found, "table_services")
    assert (found["sales_log"][0], found["units"][0], found[MART][0]) == ("ingest", "split", "fast_layer")
    assert triggers.triggers_of(SPEC, "units")[-1].conf == {"table": "units"}
