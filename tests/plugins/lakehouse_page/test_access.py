"""Who may see the lake page, by Airflow's real app and auth manager: every route of the page is walked."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import Mount

from tests.support.seen_lakes import MART, SeenLake, minute, seen_lake

PREFIX = "/lakehouse"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SeenLake:
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "lake"))
    monkeypatch.setenv("LAKEHOUSE_LANDING_PATH", str(tmp_path / "landing"))
    return seen_lake(tmp_path)


STARTS = f"{PREFIX}/lakes/sales/tables/{MART}/trigger/fast_layer"
"""What starts a run, by a form that is shown there."""


def routes_of(served: FastAPI) -> list[tuple[str, str]]:
    """Methods and paths of the page as Airflow has mounted it, with names for their parameters."""
    (mount,) = [route for route in served.routes if isinstance(route, Mount) and route.path == PREFIX]
    assert isinstance(mount.app, FastAPI)
    assert all(isinstance(route, APIRoute) for route in mount.app.routes)
    names = {"lake": "sales", "table": MART, "run": minute(7), "name": "held", "kind": "fast_layer"}
    return [
        (method, f"{PREFIX}{route.path.format(**names)}")
        for route in mount.app.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods)
    ]


def test_every_route_needs_a_session_and_a_role(served: FastAPI, token_of: Callable[[str | None], str], lake: SeenLake):
    routes = routes_of(served)
    assert len(routes) == 11
    answers = {}
    for who, cookies in {
        "nobody": {},
        "no role": {"_token": token_of(None)},
        "viewer": {"_token": token_of("VIEWER")},
    }.items():
        client = TestClient(served, cookies=cookies, follow_redirects=False)
        answers[who] = {route: client.request(*route).status_code for route in routes}
    assert set(answers["nobody"].values()) == {401}
    assert set(answers["no role"].values()) == {403}
    assert set(answers["viewer"].values()) == {200, 307, 403}
    assert [route for route, code in answers["viewer"].items() if code == 307] == [("GET", f"{PREFIX}/")]
    assert [route for route, code in answers["viewer"].items() if code == 403] == [("GET", STARTS), ("POST", STARTS)]


def test_a_token_that_is_none_is_refused(served: FastAPI):
    client = TestClient(served, cookies={"_token": "x.y.z"})
    assert {client.request(*route).status_code for route in routes_of(served)} == {403}


def test_one_route_starts_something_and_all_others_only_look(served: FastAPI):
    assert [route for route in routes_of(served) if route[0] != "GET"] == [("POST", STARTS)]


def test_a_lake_whose_dag_may_not_be_seen_is_not_seen(
    page: Callable[..., TestClient], lake: SeenLake, monkeypatch: pytest.MonkeyPatch
):
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    asked = []

    def refuse(_manager: Any, *, details: Any, **_: Any) -> bool:
        asked.append(details.id)
        return False

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", refuse)
    assert page().get("/lakes/sales").status_code == 403
    assert "no lake" in page().get("/").text
    assert set(asked) == {"ingest_sales"}


def test_nothing_is_mounted_without_airflows_security(monkeypatch: pytest.MonkeyPatch):
    import sys

    from lakehouse_plugin import LakehousePlugin

    real = builtins.__import__

    def without_security(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "airflow.api_fastapi.core_api.security":
            raise ImportError("no security")
        return real(name, *arguments, **more)

    for name in [name for name in sys.modules if name.startswith("lakehouse_page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_security)
    plugin = LakehousePlugin()
    assert (plugin.fastapi_apps, plugin.external_views) == ([], [])


def test_the_page_is_in_the_navigation(airflow_tables: None):
    from lakehouse_plugin import LakehousePlugin

    assert LakehousePlugin().external_views == [{"name": "Lake", "href": "/lakehouse/", "destination": "nav"}]
