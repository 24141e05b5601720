"""Versions of objects on an S3 server whose bucket keeps them: all but the newest go, below the paths that are named.

Objects are written three times; one of them is deleted afterwards, which leaves a mark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_stack.servers.bucket import make_bucket
from spark_jobs.storage.s3_leases import open_client
from spark_jobs.storage.s3_versions import remove_old_versions

pytestmark = [
    pytest.mark.services,
    pytest.mark.usefixtures("s3"),
    # The second S3 server gives keys that are no account of its own no right to switch versions on.
    pytest.mark.parametrize("s3_server", ["moto"], indirect=True),
]


@pytest.fixture
def client(tmp_path: Path) -> Any:
    s3, bucket = open_client(), f"versions-{tmp_path.name.replace('_', '-')[:40]}".lower()
    make_bucket(bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for key in ("sales/agents/a", "sales/agents/gone", "sales/agents_history/a", "erp/a"):
        for number in range(3):
            s3.put_object(Bucket=bucket, Key=key, Body=f"{number}".encode())
    s3.delete_object(Bucket=bucket, Key="sales/agents/gone")
    s3.bucket = bucket
    return s3


def versions(client: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    answer = client.list_object_versions(Bucket=client.bucket)
    for each in (*answer.get("Versions", ()), *answer.get("DeleteMarkers", ())):
        found[each["Key"]] = found.get(each["Key"], 0) + 1
    return found


def test_only_the_newest_is_left_below_the_paths_that_are_named(client: Any):
    paths = [f"s3a://{client.bucket}/sales/agents", f"s3a://{client.bucket}/erp", "/a/local/path"]
    table, landing = remove_old_versions(client, paths)
    assert (table.found, table.left, landing.found, landing.left) == (6, 0, 2, 0)
    assert versions(client) == {"sales/agents/a": 1, "sales/agents_history/a": 3, "erp/a": 1}
    assert client.get_object(Bucket=client.bucket, Key="sales/agents/a")["Body"].read() == b"2"
    assert [(each.found, each.left) for each in remove_old_versions(client, paths)] == [(0, 0), (0, 0)]


def test_a_bucket_that_is_not_there_is_a_reason(client: Any):
    (answer,) = remove_old_versions(client, ["s3a://missing-bucket/sales"])
    assert (answer.found, answer.left) == (0, -1)
    assert "NoSuchBucket" in answer.reason
