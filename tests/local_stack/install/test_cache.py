"""The cache is the user's unless it is named; what cannot be written says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.install.cache import cache_path, filling_cache


def test_the_cache_is_the_users_unless_it_is_named(tmp_path: Path):
    assert cache_path({"XDG_CACHE_HOME": "/c"}) == Path("/c/sales-lakehouse")
    assert cache_path({"XDG_CACHE_HOME": "/c", "LAKEHOUSE_CACHE_PATH": str(tmp_path)}) == tmp_path


def test_it_is_made_when_it_is_filled(tmp_path: Path):
    with filling_cache({"LAKEHOUSE_CACHE_PATH": str(tmp_path / "new" / "cache")}) as cache:
        assert cache == tmp_path / "new" / "cache"
        assert cache.is_dir()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(SetupError, match=r"cannot be filled .*set LAKEHOUSE_CACHE_PATH"),
        filling_cache({"LAKEHOUSE_CACHE_PATH": str(tmp_path / "file" / "below")}),
    ):
        pass
