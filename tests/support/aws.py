"""An S3 server of the tests' own, and the variables by which clients find it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from local_stack.servers.aws_server import start_aws, wait_for_aws
from local_stack.servers.bucket import make_bucket
from local_stack.servers.s3_gateway import install_gateway, start_gateway
from local_stack.servers.services import RunFolder

BUCKET = "lakehouse"
S3_SERVERS = ("moto", pytest.param("gateway", marks=pytest.mark.slice(name="stores")))
"""The servers on which tests of S3 run: the second shares no code with the first, and is built with Go."""
_ON_OBJECTS = {
    "GET": "GetObject",
    "HEAD": "GetObject",
    "PUT": "PutObject",
    "POST": "PutObject",
    "DELETE": "DeleteObject",
}


def right_for(method: str, key: str, query: str) -> str:
    """What a role has to be allowed for a request to S3 (Amazon S3, actions and the operations they are for)."""
    if key:
        is_upload = method == "DELETE" and "uploadId" in query
        return f"s3:{'AbortMultipartUpload' if is_upload else _ON_OBJECTS[method]}"
    if method in ("PUT", "POST"):
        return f"s3:{'CreateBucket' if method == 'PUT' else 'DeleteObject'}"
    if "location" in query:
        return "s3:GetBucketLocation"
    if "versions" in query:
        return "s3:ListBucketVersions"
    return f"s3:{'ListBucketMultipartUploads' if 'uploads' in query else 'ListBucket'}"


@contextmanager
def running_s3(kind: str, folder: Path) -> Iterator[Mapping[str, str]]:
    """Start an S3 server, moto or versitygw (``gateway``), with an empty bucket; gives the variables of its clients."""
    started = RunFolder(folder)
    with started.stopping():
        variables = start_gateway(started, install_gateway()) if kind == "gateway" else wait_for_aws(start_aws(started))
        make_bucket(BUCKET, variables)
        yield variables
