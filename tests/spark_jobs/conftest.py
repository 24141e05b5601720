"""Real database servers, one of each a test run, which start when the first test asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_stack.databases import MariaDB, PostgreSQL, Server, running


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with running(PostgreSQL()) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    with running(MariaDB()) as server:
        yield server
