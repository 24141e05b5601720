"""The rights in include/aws are those of the calls that the code makes: each of these, and no other.

The lake is made by hand; Glue's API is a real server (moto) that records its calls.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from local_stack.servers.bucket import make_bucket
from spark_jobs.contracts.catalogs import OWNER
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.athena_api import running_athena
from tests.support.aws import BUCKET, right_for
from tests.support.contexts import context_of, run_in
from tests.support.glue_api import GlueApi, running_glue
from tests.support.hand_made_lakes import LOG_COLUMNS, SALES_COLUMNS, HandMadeLake

AWS = PROJECT_ROOT / "include" / "aws"
POLICIES = sorted(AWS.glob("iam-*.json"))


def read(name: str) -> Any:
    return json.loads((AWS / name).read_text(encoding="utf-8"))


def actions(name: str, service: str) -> set[str]:
    found = [action for statement in read(name)["Statement"] for action in statement["Action"]]
    return {action for action in found if action.startswith(f"{service}:")}


@pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.stem)
def test_no_policy_gives_more_than_it_names(file: Path):
    policy = read(file.name)
    assert policy["Version"] == "2012-10-17"
    for statement in policy["Statement"]:
        assert statement["Effect"] == "Allow"
        assert not any("*" in action for action in statement["Action"])
        assert "*" not in statement["Resource"] or statement["Action"] == ["lakeformation:GetDataAccess"]


@pytest.mark.services
def test_sync_makes_the_calls_that_its_role_may_make_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lake = HandMadeLake(tmp_path / "lake")
    log = lake.commit("sales_log", 1, LOG_COLUMNS)
    for number in (1, 2):
        log.base(f"f{number}", 1, partition=f"event_date=2026-01-0{number}")
    lake.commit("sales", 1, SALES_COLUMNS)
    with running_glue() as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        lake.run()
        boto3.client("glue").create_table(
            DatabaseName="sales", TableInput={"Name": "old", "Parameters": {OWNER: "sales"}}
        )
        lake.commit("sales_log", 2, LOG_COLUMNS | {"note": "string"})
        log.commits(3, action="replacecommit", partitionToReplaceFileIds={"event_date=2026-01-01": ["f1"]})
        lake.run()
        assert {f"glue:{name}" for name, _ in api.calls} == actions("iam-sync.json", "glue")


@pytest.mark.services
def test_views_are_made_by_the_calls_that_their_role_may_make_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lake = HandMadeLake(tmp_path / "lake")
    lake.commit("sales", 1, SALES_COLUMNS)
    with running_athena() as api:
        monkeypatch.setenv("AWS_ENDPOINT_URL", api.url)
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        make_bucket(BUCKET, {**os.environ, "AWS_ENDPOINT_URL": api.url})
        client = boto3.client("s3")
        for file in (each for each in (tmp_path / "lake").rglob("*") if each.is_file()):
            client.upload_file(str(file), BUCKET, f"sales/{file.relative_to(tmp_path / 'lake')}")
        api.forget()
        settings = replace(lake.settings, base_path=f"s3a://{BUCKET}/sales")
        context = context_of("views", settings, action="apply")
        assert run_in(context).counters["made"] == 1
        _interrupt_a_query(api, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            run_in(replace(context, options=replace(context.options, masked=True)))
        parts = [(method, path.removeprefix(f"/{BUCKET}").strip("/"), query) for method, path, query in api.requests]
        written = {key for method, key, _ in parts if right_for(method, key, "") == "s3:PutObject"}
        athena = {f"athena:{name}" for name, _ in api.calls if "Query" in name}
        used = {right_for(*each) for each in parts} | athena | {f"glue:{n}" for n, _ in api.calls if "Query" not in n}
    assert written == {"sales/.views/sales_views.json"}
    statements = [each for each in read("iam-views.json")["Statement"] if not each["Sid"].startswith("Athena")]
    assert used == {action for each in statements for action in each["Action"] if not action.startswith("kms:")}


def _interrupt_a_query(api: GlueApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next query runs until its caller is interrupted between two looks at it, and is stopped by that."""

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyathena.common.time", SimpleNamespace(sleep=interrupt))
    states = ["RUNNING", "CANCELLED"]

    def answer(name: str, given: dict[str, Any]) -> dict[str, Any] | None:
        if name != "GetQueryExecution":
            return None
        state = states.pop(0) if len(states) > 1 else states[0]
        return {"QueryExecution": {**given, "Query": "SELECT 1", "Status": {"State": state}}}

    api.answer = answer


def test_readers_may_read_every_column_but_the_names_of_people():
    spec = load_lake_spec(Settings().lake_spec)
    names = {column for person in spec.people for column in person.columns}
    stored = {table.name: set(table.columns) for table in spec.tables} | {spec.log: set(spec.columns_by_name)}
    excluded = {
        grant["Resource"]["TableWithColumns"]["Name"].removesuffix("_rt"): set(
            grant["Resource"]["TableWithColumns"]["ColumnWildcard"]["ExcludedColumnNames"]
        )
        for grant in read("lake-formation-reader.json")
    }
    assert excluded == {table: columns & names for table, columns in stored.items() if columns & names}
    assert all(grant["Permissions"] == ["SELECT"] for grant in read("lake-formation-reader.json"))


def test_every_file_is_explained():
    readme = (AWS / "README.md").read_text(encoding="utf-8")
    assert {file.name for file in AWS.glob("*.json")} == {word for word in readme.split("`") if word.endswith(".json")}
