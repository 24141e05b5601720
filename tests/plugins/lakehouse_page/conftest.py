"""Airflow's own API server app with the plugin, on a database of this process; no server runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from spark_jobs.contracts.settings import PROJECT_ROOT


@contextmanager
def airflow_app() -> Iterator[FastAPI]:
    """What ``airflow api-server`` serves, with the plugins of this project."""
    from airflow import plugins_manager, settings
    from airflow.api_fastapi import app as airflow_app

    before, settings.PLUGINS_FOLDER = settings.PLUGINS_FOLDER, str(PROJECT_ROOT / "plugins")
    _forget_plugins(plugins_manager)
    try:
        yield airflow_app.create_app("core")
    finally:
        settings.PLUGINS_FOLDER = before
        _forget_plugins(plugins_manager)


def _forget_plugins(plugins_manager: Any) -> None:
    for name in ("_get_plugins", "get_fastapi_plugins", "_get_ui_plugins"):
        getattr(plugins_manager, name).cache_clear()


@pytest.fixture(scope="session")
def airflow_tables() -> None:
    """The tables of Airflow's database."""
    from airflow import settings
    from airflow.models import import_all_models
    from airflow.models.base import Base

    import_all_models()
    Base.metadata.create_all(settings.engine)


@pytest.fixture(scope="session")
def served(airflow_tables: None) -> Iterator[FastAPI]:
    with airflow_app() as app:
        yield app


@pytest.fixture(scope="session")
def token_of(served: FastAPI) -> Callable[[str | None], str]:
    """The token of a session of a user with this role."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    def token(role: str | None) -> str:
        user = SimpleAuthManagerUser(username="someone", role=role)
        return str(served.state.auth_manager.generate_jwt(user))

    return token


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
