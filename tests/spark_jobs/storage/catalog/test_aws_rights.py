"""The rights in include/aws are those of the calls that the code makes: each of these, and no other.

The lake is made by hand; Glue's API is a real server (moto) that remembers what it was asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from spark_jobs.contracts.catalogs import OWNER
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from tests.support.glue_api import running_glue
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
def test_sync_asks_glue_for_what_its_role_may_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
        assert {f"glue:{name}" for name, _ in api.asked} == actions("iam-sync.json", "glue")


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
    told = (AWS / "README.md").read_text(encoding="utf-8")
    assert {file.name for file in AWS.glob("*.json")} == {word for word in told.split("`") if word.endswith(".json")}
