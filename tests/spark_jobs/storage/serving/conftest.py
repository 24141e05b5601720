"""Places to serve to: databases of real servers, which start when the first test needs them, and files of SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.serving import SERVERS, Place, database_of, file_of


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.services) for name in SERVERS])
def server_place(request: pytest.FixtureRequest) -> Place:
    """An empty database of each server."""
    return database_of(request.getfixturevalue(request.param))


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=pytest.mark.services) for name in SERVERS)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty database of each kind."""
    if request.param != "sqlite":
        return database_of(request.getfixturevalue(request.param))
    return file_of(tmp_path / "serving.sqlite")
