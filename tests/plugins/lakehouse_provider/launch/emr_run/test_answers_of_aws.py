"""A task whose AWS answers late, not at all or with a refusal; the AWS is a script of this module.

It has one application and one job run, r1 of attempt a1, and answers each kind of call as a test says. Whole runs
against moto's server are in test_emr_serverless.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest

from lakehouse_provider.launch import emr_run, outcome
from lakehouse_provider.launch.engines import build_job_command
from local_stack.servers.services import LOOPBACK
from tests.support.connections import Facts
from tests.support.http_servers import running_server
from tests.support.without_aws import forget_aws

UPLOAD, LOOK = "PUT /bucket", "GET /applications/app1/jobruns/r1"
START, LISTING = "POST /applications/app1/jobruns", "GET /applications/app1/jobruns"
CANCEL = "DELETE /applications/app1/jobruns/r1"
BUSY = ("503 Service Unavailable", {"message": "as the test says"})
REFUSED = ("403 Forbidden", {"__type": "AccessDeniedException", "message": "as the test says"})
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
Answer = tuple[str, dict[str, Any]]


def state(name: str) -> Answer:
    return "200 OK", {"jobRun": {"applicationId": "app1", "jobRunId": "r1", "state": name}}


@dataclass
class Aws:
    """``requests`` are the calls, ``started`` is the body of the one to start a run, ``looks`` are answers to polls."""

    results: Path
    requests: list[str] = field(default_factory=list)
    started: dict[str, Any] = field(default_factory=dict)
    looks: Iterator[Answer] = field(default_factory=lambda: iter([state("SUCCESS")]))
    refuses: dict[str, Answer] = field(default_factory=dict)

    def application(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        call = f"{method} /bucket" if path.startswith("/bucket/") else f"{method} {path}"
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        self.requests.append(call)
        status, response = self.refuses.get(call) or self._answer(call, body)
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(response).encode()] if response and method != "HEAD" else []

    def _answer(self, call: str, body: bytes) -> Answer:
        if call == START:
            self.started = json.loads(body)
            return "200 OK", {"applicationId": "app1", "jobRunId": "r1", "arn": "arn"}
        if call == LISTING:
            return "200 OK", {"jobRuns": [{"id": "r0", "name": "other"}, {"id": "r1", "name": "a1"}]}
        if call == LOOK:
            return next(self.looks)
        return ("404 Not Found" if call.startswith("HEAD") else "200 OK"), {}


@cache
def shared_session() -> boto3.Session:
    """One for all tests: the models of the services, which it reads, take longer than the calls."""
    return boto3.Session()


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """The driver's outcome is read by a program that prints a JSON file, as the project's own does from any store."""
    results = tmp_path / "a1.json"
    results.write_text(json.dumps({"exit_code": 0, "line": "done"}), encoding="utf-8")
    monkeypatch.setattr(outcome, "READER", "json.tool")
    fake = Aws(results)
    with running_server(fake.application) as port:
        forget_aws(
            monkeypatch,
            AWS_ENDPOINT_URL=f"http://{LOOPBACK}:{port}",
            AWS_MAX_ATTEMPTS="1",
            AWS_REGION="eu-west-1",
            AWS_DEFAULT_REGION="eu-west-1",
            AWS_ACCESS_KEY_ID="submitter",
            AWS_SECRET_ACCESS_KEY="nothing",
        )
        monkeypatch.setenv(emr_run.POLL_VARIABLE, "0")
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", shared_session())
        yield fake


def run(aws: Aws, **extra: Any) -> int:
    """The exit code of the process that waits for a job of this connection."""
    folder = aws.results.parent
    needed = {"application_id": "app1", "execution_role_arn": "arn:aws:iam::123456789012:role/jobs"}
    places = {"artifacts": "s3://bucket/code", "results": str(folder), "jars": "provided"}
    facts = Facts("spark", host="", extra_dejson={"engine": "emr_serverless", **needed, **places, **extra})
    command = build_job_command(facts, ["ingest"], environment={}, work_path=folder, attempt="a1")
    return emr_run.main(list(command.arguments[3:]))


def test_an_answer_that_is_missed_now_and_then_ends_no_run(aws: Aws, capfd: pytest.CaptureFixture[str]) -> None:
    """Ten in a row are retried; each answer resets the count."""
    aws.looks = iter([*[BUSY] * 10, state("RUNNING"), *[BUSY] * 10, state("SUCCESS")])
    assert run(aws) == 0
    printed = capfd.readouterr()
    assert printed.out == "done\n"
    missed = [line for line in printed.err.splitlines() if line.startswith("emr: no answer about job run r1 (")]
    assert len(missed) == 20
    assert all(line.endswith("; polling again") for line in missed)
    assert CANCEL not in aws.requests


def test_a_run_of_which_nothing_is_heard_any_more_is_cancelled_and_may_be_tried_again(
    aws: Aws, capfd: pytest.CaptureFixture[str]
) -> None:
    aws.looks = iter([state("RUNNING"), *[BUSY] * 11])
    assert run(aws) == 1
    assert capfd.readouterr().err.splitlines()[-1].startswith("try again: emr: ")
    assert [call for call in aws.requests if call.startswith("DELETE")] == [CANCEL]


def test_a_bucket_that_may_not_be_looked_into_is_refused_before_anything_is_sent(
    aws: Aws, capfd: pytest.CaptureFixture[str]
) -> None:
    aws.refuses = {"HEAD /bucket": REFUSED}
    assert run(aws) == 2
    (error,) = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: emr: ")]
    assert "Forbidden" in error
    assert {UPLOAD, START}.isdisjoint(aws.requests)


def test_a_run_is_started_with_nothing_that_its_connection_does_not_name(aws: Aws) -> None:
    assert run(aws, conf={"spark.driver.extraJavaOptions": "-Duser.timezone=UTC"}) == 0
    assert "configurationOverrides" not in aws.started
    parameters = aws.started["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"]
    assert "--jars" not in parameters
    assert "--conf spark.driver.extraJavaOptions=-Duser.timezone=UTC" in parameters


@pytest.mark.parametrize("missing", [("AWS_REGION", "AWS_DEFAULT_REGION"), KEYS, KEYS[1:]])
def test_without_a_region_or_credentials_it_says_what_to_set(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], missing: tuple[str, ...]
) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # the shared one knows the credentials by now
    for name in missing:
        monkeypatch.delenv(name)
    assert run(aws) == 2
    (error,) = capfd.readouterr().err.splitlines()
    assert error.startswith("error: emr: ")
    assert error.endswith("; set AWS_REGION, and let the task find credentials as every AWS client does")
    assert aws.requests == []


@pytest.mark.parametrize(("answer", "code", "start"), [(REFUSED, 2, "error: "), (BUSY, 1, "try again: ")])
def test_cancelling_that_fails_says_so_once(
    aws: Aws, capfd: pytest.CaptureFixture[str], answer: Answer, code: int, start: str
) -> None:
    aws.refuses = {CANCEL: answer}
    assert emr_run.main(["cancel", "app1", "a1"]) == code
    (error,) = capfd.readouterr().err.splitlines()
    assert error.startswith(f"{start}emr: ")
    assert aws.requests == [LISTING, CANCEL]
