"""Each alert fires, in an Airflow of its own: a task that fails, a run that is late, a table that is not fresh.

Its DAGs are the shipped ``freshness`` and two whose task sleeps longer than its deadline allows, one of them of a lake
whose own connection is in Airflow's database alone. A file has been in the landing zone for two hours. The alerts come
out of Airflow's own processes and go to a service that listens.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_stack.lakes import make_lakes
from local_stack.servers.airflow_api import ApiUnreachableError
from local_stack.servers.airflow_home import DATABASE_VARIABLE, AirflowHome
from local_stack.servers.databases import Server
from local_stack.servers.ports import free_port
from local_stack.servers.services import RunFolder
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.alert_services import AlertService, running_alert_service
from tests.support.processes import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.slice(name="airflow")]
LIMIT_SECONDS = 300
SLEEPER = '''
"""A run that takes longer than its deadline allows."""
import time
from airflow.sdk import dag, task
from lakehouse_provider.alerts import deadline_alert
for dag_id, lake in (("sleeper", ""), ("branch_sleeper", "branch")):
    @dag(dag_id=dag_id, schedule=None, deadline=deadline_alert(dag_id, minutes=0.05, lake=lake))
    def sleeper():
        @task
        def sleep():
            time.sleep(15)
        sleep()
    sleeper()
'''


@dataclass(frozen=True, kw_only=True)
class Watched:
    airflow: AirflowHome
    service: AlertService
    landing: Path


@pytest.fixture(scope="module")
def watched(postgresql: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("alerts")
    dags, landing = folder / "dags", folder / "landing" / "erp.SALES"
    for made in (dags, landing):
        made.mkdir(parents=True)
    shutil.copy(PROJECT_ROOT / "dags" / "freshness.py", dags)
    (dags / "sleeper.py").write_text(SLEEPER, encoding="utf-8")
    (landing / "waiting.jsonl").write_text('{"after": null}\n', encoding="utf-8")
    long_ago = time.time() - 7200
    os.utime(landing / "waiting.jsonl", (long_ago, long_ago))
    run = RunFolder(folder / "run")
    with running_alert_service() as service, run.stopping():
        environ = {**os.environ, "LAKEHOUSE_BASE_PATH": str(folder / "lake"), "LAKEHOUSE_UI_PORT": str(free_port())}
        environ |= {"LAKEHOUSE_LANDING_PATH": str(landing.parent)}
        environ[DATABASE_VARIABLE] = postgresql.url(postgresql.new_database())
        make_lakes(environ)
        airflow = AirflowHome(run, environ=environ)
        airflow.environment["AIRFLOW__CORE__DAGS_FOLDER"] = str(dags)
        airflow.environment["AIRFLOW_CONN_LAKEHOUSE_ALERTS"] = service.connection
        airflow.prepare(connect_port=free_port(), ingest_cron="0 0 * * *")
        airflow.start(with_triggerer=False)
        wait_until(lambda: is_ready(airflow), "Airflow is ready", limit_seconds=LIMIT_SECONDS)
        yield Watched(airflow=airflow, service=service, landing=landing)


def is_ready(airflow: AirflowHome) -> bool:
    try:
        return airflow.api.is_healthy() and airflow.api.dag_ids() == {"freshness", "sleeper", "branch_sleeper"}
    except ApiUnreachableError:
        return False


def test_a_table_that_is_not_fresh_is_reported_whatever_ran(watched: Watched):
    wait_until(lambda: bool(watched.service.received), "the alert comes", limit_seconds=LIMIT_SECONDS)
    title, message = watched.service.received[0]
    assert title == "freshness.check failed"
    assert "1 tables are older than they promise to be: sales_log: behind: something waits since" in message
    assert "docs/runbooks/freshness.md" in message
    assert {run.state for run in watched.airflow.api.runs("freshness")} <= {"failed", "running"}


def test_what_lasts_is_reported_once_and_then_that_it_recovered(watched: Watched):
    api, received = watched.airflow.api, watched.service.received
    run_once(watched, "failed")
    assert [title for title, _ in received if title == "freshness.check failed"] == ["freshness.check failed"]
    (watched.landing / "waiting.jsonl").unlink()
    run_once(watched, "success")
    wait_until(lambda: "freshness.check recovered" in dict(received), "the good news", limit_seconds=LIMIT_SECONDS)
    run_once(watched, "success")
    assert [title for title, _ in received if title.startswith("freshness")] == [
        "freshness.check failed",
        "freshness.check recovered",
    ]
    assert not any(run.is_active for run in api.runs("freshness"))


def run_once(watched: Watched, state: str) -> None:
    api = watched.airflow.api
    run_id = api.trigger("freshness")
    ended = {"success", "failed"}
    wait_until(
        lambda: any(run.run_id == run_id and run.state in ended for run in api.runs("freshness")),
        "the run ends",
        limit_seconds=LIMIT_SECONDS,
    )
    assert next(run.state for run in api.runs("freshness") if run.run_id == run_id) == state


def test_a_run_that_is_late_is_reported_while_it_still_runs(watched: Watched):
    watched.airflow.api.trigger("sleeper")
    wait_until(lambda: "sleeper is late" in dict(watched.service.received), "the alert", limit_seconds=LIMIT_SECONDS)
    assert "is not at its end 0.05 minutes after it was queued" in dict(watched.service.received)["sleeper is late"]


def test_a_late_run_whose_connection_airflow_denies_is_in_the_log_and_goes_to_the_shared_service(watched: Watched):
    """Airflow gives a deadline's callback no connection of its own database, nor whether there is one."""
    airflow = watched.airflow
    with running_alert_service() as of_branch:
        airflow.api.make_connection("lakehouse_alerts_branch", {"conn_type": "apprise", "extra": of_branch.extra})
        airflow.api.trigger("branch_sleeper")
        received = watched.service.received
        wait_until(lambda: "branch_sleeper is late" in dict(received), "the alert", limit_seconds=LIMIT_SECONDS)
        assert of_branch.received == []
    remedy = "set it as AIRFLOW_CONN_LAKEHOUSE_ALERTS_BRANCH or keep it in a secrets backend"
    logs = [*(airflow.home / "logs").rglob("*.log"), *(airflow.home / "logs").rglob("executor_callbacks/*/*/*")]
    assert any(remedy in log.read_text(encoding="utf-8", errors="replace") for log in logs if log.is_file())
