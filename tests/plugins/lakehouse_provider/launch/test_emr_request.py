"""The request for a job run of EMR Serverless, and what its connection must not contain. Whole runs: emr_run/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakehouse_provider.launch.engines import build_job_command
from spark_jobs.contracts.errors import SettingsError
from tests.support.connections import Facts


@pytest.fixture
def jars(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in ("hudi-bundle.jar", "hadoop-aws.jar"):
        (folder / name).touch()
    return {"LAKEHOUSE_JARS_PATH": str(folder)}


def request_of(folder: Path, environment: dict[str, str], **extra: Any) -> dict[str, Any]:
    """The request that the process which starts the run is given."""
    needed = {"application_id": "00abc", "execution_role_arn": "arn:aws:iam::123456789012:role/jobs"}
    places = {"engine": "emr_serverless", "artifacts": "s3://bucket/code", "results": "s3://bucket/results"}
    facts = Facts("spark", host="", extra_dejson={**needed, **places, **extra})
    command = build_job_command(facts, ["ingest"], environment=environment, work_path=folder, attempt="a1")
    request: dict[str, Any] = json.loads(Path(command.arguments[-1]).read_text(encoding="utf-8"))
    return request


def test_of_the_projects_jars_hudis_alone_is_sent(tmp_path: Path, jars: dict[str, str]) -> None:
    assert [Path(jar).name for jar in request_of(tmp_path, jars)["files"]["jars"]] == ["hudi-bundle.jar"]


@pytest.mark.parametrize(
    ("given", "sent"),
    [("s3://b/x.jar, s3://b/hudi.jar", ["s3://b/x.jar", "s3://b/hudi.jar"]), ("provided", [])],
)
def test_jars_that_the_connection_names_are_sent_all(
    tmp_path: Path, jars: dict[str, str], given: str, sent: list[str]
) -> None:
    assert request_of(tmp_path, jars, jars=given)["files"]["jars"] == sent


def test_a_secret_in_the_conf_is_refused_by_name_and_its_value_is_not_shown(
    tmp_path: Path, jars: dict[str, str]
) -> None:
    conf = {"spark.hadoop.fs.s3a.secret.key": "canary", "spark.authenticate.secret": "canary", "spark.x": "1"}
    with pytest.raises(SettingsError) as raised:
        request_of(tmp_path, jars, conf=conf)
    assert str(raised.value) == (
        "connection lakehouse_spark: conf sets spark.authenticate.secret, spark.hadoop.fs.s3a.secret.key, and EMR "
        "shows what a job run is given; let the execution role or AWS Secrets Manager supply it"
    )
