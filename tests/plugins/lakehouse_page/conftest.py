"""Airflow's own API server app with the plugin, on a database of this process; no server runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.support.airflow_pages import airflow_app, make_tables, session_of


@pytest.fixture(scope="session")
def airflow_tables() -> None:
    """The tables of Airflow's database."""
    make_tables()


@pytest.fixture(scope="session")
def served(airflow_tables: None) -> Iterator[FastAPI]:
    with airflow_app() as app:
        yield app


@pytest.fixture(scope="session")
def token_of(served: FastAPI) -> Callable[[str | None], str]:
    """The token of a session of a user with this role."""
    return partial(session_of, served)


@pytest.fixture
def page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token_of: Callable[[str | None], str]
) -> Callable[..., TestClient]:
    """The page of the lake below a folder, for a user with a role; None is nobody."""
    from lakehouse_page.app import PREFIX, make_app

    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "lake"))
    monkeypatch.setenv("LAKEHOUSE_LANDING_PATH", str(tmp_path / "landing"))

    def client(role: str | None = "VIEWER", *, has_session: bool = True) -> TestClient:
        app = FastAPI()
        app.mount(PREFIX, make_app())
        cookies = {"_token": token_of(role)} if has_session else {}
        return TestClient(app, base_url=f"http://testserver{PREFIX}", cookies=cookies)

    return client
