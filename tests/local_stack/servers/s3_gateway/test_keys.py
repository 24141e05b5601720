"""The keys that `make secrets` makes, on the S3 server as docker-compose.yaml starts it: jobs write, Trino reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from local_stack.install.secrets_folder import BUCKET, make_secrets
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.bucket import open_s3, run
from local_stack.servers.ports import free_port
from local_stack.servers.s3_gateway import install_gateway
from local_stack.servers.services import RunFolder, wait_for_server

pytestmark = [pytest.mark.services, pytest.mark.slice(name="stores")]


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """The variables of each kind of client, of a server with the bucket and its policy."""
    secrets, data, port = tmp_path / "secrets", tmp_path / "data", free_port()
    make_secrets(secrets)
    data.mkdir()
    service = yaml.safe_load((PROJECT_ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))["services"]["s3"]
    shell, flag, script = service["entrypoint"]
    places = {
        "/run/secrets": str(secrets),
        "/tmp/iam": str(tmp_path / "iam"),
        "/data": str(data),
        ":7070": f"127.0.0.1:{port}",
        "exec versitygw": f"exec {install_gateway()}",
    }
    for inside, here in places.items():
        assert inside in script
        script = script.replace(inside, here)
    folder = RunFolder(tmp_path / "run")
    with folder.stopping():
        wait_for_server(
            folder.start("s3", [shell, flag, script], environment=os.environ, port=port), what="S3", seconds=60
        )
        common = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_REGION": "us-east-1"}
        yield {
            who: {**common, "AWS_SHARED_CREDENTIALS_FILE": str(secrets / f"s3_{file}")}
            for who, file in {"root": "root_credentials", "job": "credentials", "trino": "reader_credentials"}.items()
        } | {"policy": {"file": str(secrets / "s3_bucket_policy.json")}}


def refused(call: Any, **arguments: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(Bucket=BUCKET, **arguments)
    return str(caught.value.response["Error"]["Code"])


def test_jobs_write_trino_reads_and_neither_removes_the_bucket(
    keys: Mapping[str, Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in keys["root"].items():
        monkeypatch.setenv(name, value)
    assert run([BUCKET, "--policy", keys["policy"]["file"]]) == 0
    assert run([BUCKET, "--policy", keys["policy"]["file"]]) == 0, "and again, as each `up` does"
    job, trino = open_s3(keys["job"]), open_s3(keys["trino"])
    job.put_object(Bucket=BUCKET, Key="sales/units/a.parquet", Body=b"rows")
    assert trino.get_object(Bucket=BUCKET, Key="sales/units/a.parquet")["Body"].read() == b"rows"
    assert [each["Key"] for each in trino.list_objects_v2(Bucket=BUCKET)["Contents"]] == ["sales/units/a.parquet"]
    assert refused(trino.put_object, Key="sales/units/b", Body=b"") == "AccessDenied"
    assert refused(trino.delete_object, Key="sales/units/a.parquet") == "AccessDenied"
    assert refused(trino.put_bucket_policy, Policy="{}") == "AccessDenied"
    assert refused(job.put_bucket_policy, Policy="{}") == "AccessDenied"
    job.delete_object(Bucket=BUCKET, Key="sales/units/a.parquet")
    assert refused(job.delete_bucket) == "AccessDenied"
    assert not trino.list_objects_v2(Bucket=BUCKET).get("Contents")
