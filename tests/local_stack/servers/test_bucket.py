"""A bucket on the S3 server that the environment names: made, made again, refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers.bucket import make_bucket, open_s3, run
from tests.support.aws import BUCKET

pytestmark = pytest.mark.services


def test_a_bucket_is_made_once(s3: Mapping[str, str], capsys: pytest.CaptureFixture[str]):
    assert run(["lake"]) == 0
    assert run(["lake"]) == 0
    assert capsys.readouterr().err.splitlines() == ["bucket: made lake", "bucket: lake is there"]
    assert {bucket["Name"] for bucket in open_s3(s3).list_buckets()["Buckets"]} == {BUCKET, "lake"}


def test_a_policy_replaces_the_one_before(s3: Mapping[str, str], tmp_path: Path):
    file = tmp_path / "policy.json"
    for action in ("s3:GetObject", "s3:PutObject"):
        statement = {"Effect": "Allow", "Principal": "*", "Action": [action], "Resource": ["arn:aws:s3:::lake/*"]}
        file.write_text(json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
        assert run(["lake", "--policy", str(file)]) == 0
        assert json.loads(open_s3(s3).get_bucket_policy(Bucket="lake")["Policy"])["Statement"] == [statement]
    with pytest.raises(SetupError, match=r"bucket 'lake' cannot be given the policy in .*gone\.json.*correct the file"):
        run(["lake", "--policy", str(tmp_path / "gone.json")])


def test_a_name_that_no_bucket_can_have_is_refused(s3: Mapping[str, str]):
    with pytest.raises(SetupError, match="bucket 'x' cannot be made"):
        make_bucket("x", s3)


def test_a_server_that_does_not_answer_is_named(s3: Mapping[str, str]):
    with pytest.raises(SetupError, match=r"bucket 'lake' cannot be made: .*127\.0\.0\.1:9"):
        make_bucket("lake", {**s3, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
