"""Jobs on EMR Serverless: its API is moto's server, its workers are processes of the tests (tests/support/emr_api.py).

States are set by hand, as moto never leaves the first one. The job is `spec check`, which needs no Spark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import boto3
import pytest

from lakehouse_provider.launch.emr_run import POLL_VARIABLE
from lakehouse_provider.launch.engines import build_job_command
from lakehouse_provider.launch.job_process import JobExit, JobProcess
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.connections import Facts
from tests.support.emr_api import BUCKET, ROLE, EmrApi, play, running_emr
from tests.support.processes import wait_until

pytestmark = pytest.mark.services
CHECK = ("spec", "check")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmrApi]:
    with running_emr() as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        place = {"LocationConstraint": "eu-west-1"}
        boto3.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)
        yield api


def connection(application: str = "00abcdefghijkl00", **extra: Any) -> Facts:
    needed = {"application_id": application, "execution_role_arn": ROLE, "artifacts": f"s3a://{BUCKET}/code/"}
    return Facts("spark", host="", extra_dejson={"engine": "emr_serverless", **needed, **extra})


def variables(folder: Path) -> dict[str, str]:
    jars = folder / "jars"
    jars.mkdir(exist_ok=True)
    for name in ("hudi-bundle.jar", "hadoop-aws.jar"):
        (jars / name).write_text(name)
    return {
        **os.environ,
        POLL_VARIABLE: "0.1",
        "LAKEHOUSE_BASE_PATH": f"s3a://{BUCKET}/sales",
        "LAKEHOUSE_LANDING_PATH": str(folder / "landing"),
        "LAKEHOUSE_JARS_PATH": str(jars),
        "LAKEHOUSE_SERVING_URL": "mysql://canary@db/live",
    }


def process(api: EmrApi, folder: Path, logged: list[str], *line: str, attempt: str = "a1", **extra: Any) -> JobProcess:
    command = build_job_command(
        connection(api.application, **extra), line, environment=variables(folder), work_path=folder, attempt=attempt
    )
    return JobProcess(command, log=logged.append)


class Worker:
    """Leads a run through EMR's states, and does its work when it is RUNNING."""

    def __init__(self, folder: Path, last: str, *, works: bool = True) -> None:
        self.states = iter(["SUBMITTED", "SCHEDULED", "RUNNING", last])
        self.folder, self.works = folder, works

    def __call__(self, run: Any) -> None:
        run.state = next(self.states, run.state)
        if run.state == "RUNNING" and self.works:
            play(run, self.folder / "empty")
        run.state_details = "as the test says" if run.state == "FAILED" else None


def stored() -> list[str]:
    return [entry["Key"] for entry in boto3.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="code/")["Contents"]]


def test_a_run_hands_its_result_back(api: EmrApi, tmp_path: Path) -> None:
    logged: list[str] = []
    api.on_get = Worker(tmp_path, "SUCCESS")
    ended = process(api, tmp_path, logged, *CHECK, logs=f"s3://{BUCKET}/logs").run()
    assert ended.code == 0, logged
    assert json.loads(ended.last_line)["counters"]["tables"] == 7
    reported = [line for line in logged if " is " in line]
    (run,) = api.runs()
    assert reported == [
        f"emr: job run {run.id} is {state}" for state in ("SUBMITTED", "SCHEDULED", "RUNNING", "SUCCESS")
    ]
    where = f"s3://{BUCKET}/logs/applications/{api.application}/jobs/{run.id}/SPARK_DRIVER/"
    assert any(line.endswith(f"the driver's log: {where}") for line in logged)
    assert sorted(key.rpartition("/")[2] for key in stored()) == ["entrypoint.py", "hudi-bundle.jar", "spark_jobs.zip"]
    assert (run.client_token, run.name, run.execution_role_arn) == ("a1", "a1", ROLE)
    overrides = run.configuration_overrides
    assert overrides["monitoringConfiguration"]["s3MonitoringConfiguration"]["logUri"] == f"s3://{BUCKET}/logs/"
    (defaults,) = overrides["applicationConfiguration"]
    assert "-Duser.timezone=UTC" in defaults["properties"]["spark.driver.extraJavaOptions"]
    parameters = run.job_driver["sparkSubmit"]["sparkSubmitParameters"]
    assert "--conf spark.executor.cores=4 " in parameters
    assert "canary" not in json.dumps([run.job_driver, overrides])


def test_what_is_in_s3_already_is_not_sent_again(api: EmrApi, tmp_path: Path) -> None:
    for attempt in ("a1", "a2"):
        api.on_get = Worker(tmp_path, "FAILED", works=False)
        process(api, tmp_path, [], *CHECK, attempt=attempt).run()
    assert sum(each.startswith("s3:PutObject code/") for each in api.calls) == 3
    assert len(api.runs()) == 2


def test_an_error_of_the_job_comes_through_with_its_exit_code(api: EmrApi, tmp_path: Path) -> None:
    api.on_get = Worker(tmp_path, "FAILED")
    ended = process(api, tmp_path, [], "ingest", "--max-events", "0").run()
    assert ended.code == 2
    assert ended.reason.startswith("error: ")
    assert "--max-events" in ended.reason


@pytest.mark.parametrize(("last", "details"), [("FAILED", "as the test says"), ("CANCELLED", "no reason given")])
def test_a_run_that_left_nothing_may_be_tried_again(api: EmrApi, tmp_path: Path, last: str, details: str) -> None:
    api.on_get = Worker(tmp_path, last, works=False)
    ended = process(api, tmp_path, [], *CHECK).run()
    (run,) = api.runs()
    assert (ended.code, ended.reason) == (
        1,
        f"try again: emr: job run {run.id} ended {last} without a result ({details}); its pages and logs: aws "
        f"emr-serverless get-dashboard-for-job-run --application-id {api.application} --job-run-id {run.id}",
    )


def test_a_stopped_task_cancels_its_run_and_no_other(api: EmrApi, tmp_path: Path) -> None:
    def go_on(run: Any) -> None:
        run.state = run.state if run.state == "CANCELLED" else "RUNNING"

    logged: list[str] = []
    api.on_get = go_on
    started = process(api, tmp_path, logged, *CHECK)
    other = boto3.client("emr-serverless").start_job_run(
        applicationId=api.application, clientToken="b", executionRoleArn=ROLE, name="b"
    )
    api.runs()[0].state = "RUNNING"
    ended = stopped_when_running(started, logged)
    assert ended.code != 0
    wait_until(lambda: {run.name: run.state for run in api.runs()} == {"a1": "CANCELLED", "b": "RUNNING"}, "it ends")
    assert other["jobRunId"] in {run.id for run in api.runs()}


def stopped_when_running(started: JobProcess, logged: list[str]) -> JobExit:
    def stop() -> None:
        wait_until(lambda: any("RUNNING" in line for line in logged), "it runs")
        started.stop()

    Timer(0.1, stop).start()
    return started.run()


def refused(api: EmrApi, folder: Path, **extra: Any) -> JobExit:
    facts = connection(api.application)
    facts.extra_dejson.update(extra)
    command = build_job_command(facts, CHECK, environment=variables(folder), work_path=folder)
    return JobProcess(command, log=lambda _: None).run()


def test_what_aws_refuses_is_not_tried_again(api: EmrApi, tmp_path: Path) -> None:
    no_bucket = refused(api, tmp_path, artifacts="s3://nowhere/code")
    assert (no_bucket.code, no_bucket.reason.split(":")[0]) == (2, "error")
    no_application = refused(api, tmp_path, application_id="00zzz")
    assert (no_application.code, "ResourceNotFound" in no_application.reason) == (2, True)


def test_what_does_not_answer_is_tried_again(api: EmrApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    ended = refused(api, tmp_path)
    assert (ended.code, ended.reason.split(":")[0]) == (1, "try again")


@pytest.mark.parametrize("name", ["application_id", "execution_role_arn", "artifacts"])
def test_a_connection_that_lacks_something_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=f"engine emr_serverless needs {name} in its extra"):
        build_job_command(connection(**{name: ""}), CHECK, environment=variables(tmp_path), work_path=tmp_path)


@pytest.mark.parametrize("extra", [{"timeout_minutes": "soon"}, {"timeout_minutes": 4}, {"logs": "/var/log"}])
def test_a_connection_that_says_what_cannot_be_is_refused(tmp_path: Path, extra: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"connection lakehouse_spark: {next(iter(extra))} "):
        build_job_command(connection(**extra), CHECK, environment=variables(tmp_path), work_path=tmp_path)


def test_the_submitters_policy_has_these_calls_and_no_others(api: EmrApi, tmp_path: Path) -> None:
    """Passing the role is no call of its own; artifacts and results are folders with rights of their own."""
    api.on_get = Worker(tmp_path, "SUCCESS")
    process(api, tmp_path, [], *CHECK).run()
    api.on_get = lambda run: setattr(run, "state", "RUNNING")
    logged: list[str] = []
    killed = process(api, tmp_path, logged, *CHECK, attempt="a2")
    stopped_when_running(killed, logged)
    wait_until(lambda: "emr-serverless:CancelJobRun" in api.calls, "it is cancelled")
    policy = json.loads((PROJECT_ROOT / "include" / "aws" / "iam-submitter.json").read_text(encoding="utf-8"))
    places = {"code": "CodeIsSent", "sales": "ResultsAreTaken"}
    used = {(call.partition(" ")[0], places.get(call.partition(" ")[2].partition("/")[0], "")) for call in api.calls}
    # With the right to list, a missing object is not a forbidden one; passing a role is no call; nothing is forbidden.
    given = {
        (action, statement["Sid"] if statement["Sid"] in places.values() else "")
        for statement in policy["Statement"]
        for action in statement["Action"]
        if action not in ("iam:PassRole", "s3:ListBucket")
    }
    assert used == given
