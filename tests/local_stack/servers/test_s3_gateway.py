"""The S3 server that is built with Go, as far as it goes without building it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers.s3_gateway import NAME, start_gateway
from local_stack.servers.services import RunFolder


def test_what_an_earlier_run_left_does_not_keep_it_from_starting(tmp_path: Path):
    program = Path(shutil.which("false") or "")
    left = tmp_path / NAME / "data" / "bucket"
    left.mkdir(parents=True)
    with pytest.raises(SetupError, match="the S3 gateway ended"):
        start_gateway(RunFolder(tmp_path), program)
    assert not left.exists()
