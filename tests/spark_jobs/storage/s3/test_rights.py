"""What jobs request of S3 is what `include/aws` lets their role do, on the objects it names, and each of its actions.

S3's API is a real server (moto) that records its requests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_stack.demos.lake_view import read_with_rust
from local_stack.servers.bucket import make_bucket
from spark_jobs.contracts.results import DONE
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from tests.support.aws import right_for
from tests.support.broken import BROKEN
from tests.support.contexts import CLOCK
from tests.support.envelopes import SQLSERVER_TOPIC
from tests.support.erasures import AGENT, person_lines
from tests.support.glue_api import GlueApi, running_glue
from tests.support.lakes import PIPELINE
from tests.support.own_session import close_own_session, run_in_own_session
from tests.support.service_lakes import write_hungry_spec

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.timeout(900), pytest.mark.slice(name="cloud")]

LAKE, LANDING = "company-lake", "company-landing"
_NOT_BY_THE_JOBS = {"OldVersionsGo", "WithTheLakesKey"}
"""Statements for buckets that keep versions, and for what S3 does itself in the role's name."""
_ONLY_AFTER_A_FAILURE = {"s3:AbortMultipartUpload"}


class S3Lake:
    """A lake of two buckets, worked on by a session of a process of its own: executors take the server from there."""

    def __init__(self, api: GlueApi, process: ProcessPoolExecutor, spec: Path) -> None:
        self.api, self._process = api, process
        self._settings = Settings(
            base_path=f"s3a://{LAKE}/sales",
            landing_path=f"s3a://{LANDING}/erp",
            lake_spec=str(spec),
            lease_wait_seconds=60,
            driver_memory="2g",
            spark_master="local[2]",
        )

    def deliver(self, number: int) -> None:
        """Put a round's file into the landing zone."""
        content = b"".join(text + b"\n" for text in person_lines(number))
        key = f"erp/{SQLSERVER_TOPIC}/events-{number}.jsonl"
        boto3.client("s3").put_object(Bucket=LANDING, Key=key, Body=content)

    def deliver_broken(self) -> None:
        """Put a file with a record that cannot be used into the landing zone."""
        content = BROKEN["key is text"][1](1) + b"\n"
        boto3.client("s3").put_object(Bucket=LANDING, Key=f"erp/{SQLSERVER_TOPIC}/broken.jsonl", Body=content)

    def run(self, job: str, *, clock: datetime = CLOCK, **options: Any) -> str:
        """The status of a run."""
        return self._process.submit(run_in_own_session, self._settings, job, clock, options).result()

    def refresh(self) -> list[str]:
        """From the landing zone to the fast layer."""
        return [self.run(job, **options) for job, options in PIPELINE]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Lake]:
    folder = tmp_path_factory.mktemp("rights")
    with running_glue() as api, pytest.MonkeyPatch.context() as patch:
        for name, value in {**api.environment, "AWS_ENDPOINT_URL": api.url}.items():
            patch.setenv(name, value)
        for bucket in (LAKE, LANDING):
            make_bucket(bucket, os.environ)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            yield S3Lake(api, process, write_hungry_spec(folder))
            process.submit(close_own_session).result()


def test_ingest_split_and_marts(lake: S3Lake):
    lake.api.forget()
    for number in range(2):
        lake.deliver(number)
        assert lake.refresh() == [DONE] * len(PIPELINE)
    lake.deliver_broken()
    lake.run("ingest")
    assert lake.run("quarantine", action="replay", reason="bad_integer", because="so", by="Ann") == DONE
    lake.api.requests[:] = [each for each in lake.api.requests if "erp/" not in each[1] or each[0] != "PUT"]
    assert_is_the_role_of(lake.api, "iam-ingest.json")


def test_the_other_reader_finds_keys_and_server_as_every_client_does(lake: S3Lake, tmp_path: Path):
    table = f"s3a://{LAKE}/sales/sales_log"
    rows = sorted(map(repr, read_with_rust(table)))
    assert rows
    keys = tmp_path / "credentials"
    keys.write_text("[default]\naws_access_key_id = an-id\naws_secret_access_key = a-secret\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(keys))
        patch.setenv("AWS_ENDPOINT_URL_S3", lake.api.url)
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        assert sorted(map(repr, read_with_rust(table))) == rows


def test_services_savepoints_and_doctor(lake: S3Lake):
    lake.api.forget()
    clock = datetime.now(UTC) + timedelta(days=2)
    lake.run("savepoint", clock=clock, action="create", label="day", keep=None)
    assert lake.run("services", clock=clock, action="run", service=None, all=True) == DONE
    lake.run("restore", clock=clock, to=f"day-{clock:%Y%m%dT%H%M%S}", yes=True)
    lake.run("doctor", clock=clock, action="repair", deep=True, yes=True)
    assert_is_the_role_of(lake.api, "iam-services.json")


def test_an_erasure(lake: S3Lake):
    lake.refresh()
    lake.api.forget()
    assert lake.run("erase", clock=datetime.now(UTC), agent=AGENT, yes=True) == DONE
    assert_is_the_role_of(lake.api, "iam-erasure.json")


def assert_is_the_role_of(api: GlueApi, file: str) -> None:
    """Nothing was requested that the policy does not give, and nothing is given that was not requested."""
    given = [each for each in _statements(file) if each["Sid"] not in _NOT_BY_THE_JOBS]
    requested = {_requested(*each) for each in api.requests}
    allowed = _statements(file)
    refused = {(action, name) for action, name in requested if not any(_allows(each, action, name) for each in allowed)}
    assert refused == set()
    never = [
        (each["Sid"], action)
        for each in given
        for action in each["Action"]
        if action not in _ONLY_AFTER_A_FAILURE
        and not any(action == right and _allows(each, right, name) for right, name in requested)
    ]
    assert never == []


def _statements(file: str) -> list[dict[str, Any]]:
    text = (PROJECT_ROOT / "include" / "aws" / file).read_text(encoding="utf-8")
    statements: list[dict[str, Any]] = json.loads(
        text.replace("COMPANY-LAKE", LAKE).replace("COMPANY-LANDING", LANDING)
    )["Statement"]
    return statements


def _requested(method: str, path: str, query: str) -> tuple[str, str]:
    """The action and the name of what it is on; the objects of a deletion of many are in its body, not in its path."""
    bucket, _, key = path.strip("/").partition("/")
    action = right_for(method, key, query)
    if action == "s3:DeleteObject" and not key:
        key = "sales/*"
    return action, "/".join((f"arn:aws:s3:::{bucket}", key)).rstrip("/")


def _allows(statement: dict[str, Any], action: str, name: str) -> bool:
    return action in statement["Action"] and any(fnmatchcase(name, each) for each in statement["Resource"])
