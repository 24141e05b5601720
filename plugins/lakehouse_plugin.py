"""The only file here that Airflow imports by itself; everything else lives in packages that it leaves alone.

The page is imported when the API server wants its apps, and not in every process that loads plugins.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

log = logging.getLogger(__name__)


class LakehousePlugin(AirflowPlugin):
    """Mounts the lake page and puts it into the navigation; neither without Airflow's own security."""

    name = "lakehouse"
    _apps: list[Any] | None = None
    _views: list[Any] | None = None

    @property
    def fastapi_apps(self) -> list[Any]:
        """The page behind Airflow's login; none when it cannot be imported with all that guards it."""
        if self._apps is None:
            self._apps = _page()
        return self._apps

    @fastapi_apps.setter
    def fastapi_apps(self, apps: list[Any]) -> None:
        self._apps = apps

    @property
    def external_views(self) -> list[Any]:
        """A link in the navigation, where there is something behind it."""
        if self._views is None:
            path = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
            hrefs = [f"{path}{app['url_prefix']}/" for app in self.fastapi_apps]
            self._views = [{"name": "Lake", "href": href, "destination": "nav"} for href in hrefs]
        return self._views

    @external_views.setter
    def external_views(self, views: list[Any]) -> None:
        self._views = views


def _page() -> list[Any]:
    try:
        from lakehouse_page.app import PREFIX, make_app

        return [{"app": make_app(), "url_prefix": PREFIX, "name": "Lake page"}]
    except (ImportError, AttributeError) as error:
        log.warning("the lake page is not mounted, something that it needs is not there: %s", error)
        return []
