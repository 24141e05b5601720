"""An S3 server of the tests' own, and the variables by which clients find it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from local_stack.aws_server import make_bucket, start_aws, wait_for_aws
from local_stack.services import RunFolder

BUCKET = "lakehouse"


@contextmanager
def running_s3(folder: Path) -> Iterator[Mapping[str, str]]:
    """Start it with an empty bucket; this process and those that it starts find it until the block ends."""
    started = RunFolder(folder)
    with started.stopping(), pytest.MonkeyPatch.context() as patch:
        variables = wait_for_aws(start_aws(started))
        for name, value in variables.items():
            patch.setenv(name, value)
        make_bucket(BUCKET, variables)
        yield variables
