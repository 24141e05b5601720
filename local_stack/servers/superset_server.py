"""Superset on this machine, prepared and started as docker compose does it, over a serving store that is there."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_stack.errors import SetupError
from local_stack.install.superset_dashboards import FOLDER
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, RunFolder, Service, wait_for_server
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.serving.address import Database, parse_address

NAME = "superset"
USER = "admin"
START_SECONDS = 300.0
SOURCE = PROJECT_ROOT / "include" / "docker" / "superset"
_LOCAL_CONFIG = """
from superset_config import *
# A file beside the lake is a store too; Superset refuses SQLite for the sake of servers that many people use.
PREVENT_UNSAFE_DB_CONNECTIONS = False
TALISMAN_ENABLED = False
"""


@dataclass(frozen=True, kw_only=True)
class Superset:
    """What is installed, in the folder of a stack; ``store`` is the serving store's URL, as jobs have it."""

    folder: RunFolder
    installed: Path
    store: str
    dashboards: Path = FOLDER

    @property
    def home(self) -> Path:
        """Where its database, its secrets and its settings are."""
        return self.folder.path / NAME

    @property
    def password(self) -> str:
        """That of the user ``admin``."""
        return (self.home / "secrets" / "admin_password").read_text(encoding="utf-8")

    def prepare(self) -> str:
        """Make its database, its user, the connections and the dashboards; gives its last line.

        Raises:
            SetupError: it failed; the message has its last line.
        """
        self._write_secrets()
        command = [str(self.installed / "bin" / "python"), str(SOURCE / "prepare.py")]
        done = subprocess.run(command, env=self._environment, cwd=self.home, capture_output=True, text=True)
        self.folder.log(f"{NAME}-prepare").write_text(done.stdout + done.stderr, encoding="utf-8")
        lines = (done.stderr if done.returncode else done.stdout).strip().splitlines() or [""]
        if done.returncode:
            raise SetupError(f"Superset was not prepared ({lines[-1]}); see {self.folder.log(f'{NAME}-prepare')}")
        return lines[-1]

    def start(self) -> Service:
        """Start it; :meth:`wait` says when it answers."""
        port = free_port()
        command = [
            *(str(self.installed / "bin" / "gunicorn"), "--bind", f"{LOOPBACK}:{port}", "--workers", "1"),
            *("--threads", "4", "--timeout", "120", "superset.app:create_app()"),
        ]
        return self.folder.start(NAME, command, environment=self._environment, port=port, cwd=self.home)

    def wait(self, server: Service) -> SupersetApi:
        """Wait until it answers; gives its API for the user ``admin``. SetupError when it does not."""
        address = wait_for_server(server, what="Superset", seconds=START_SECONDS)
        return SupersetApi.signed_in(f"http://{address}", self.password)

    @property
    def _environment(self) -> dict[str, str]:
        home = self.home
        return {
            "PATH": f"{self.installed}/bin:{os.environ.get('PATH', '')}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONPATH": str(SOURCE),
            "FLASK_APP": "superset.app:create_app()",
            "SUPERSET_HOME": str(home),
            "SUPERSET_CONFIG_PATH": str(home / "local_config.py"),
            "LAKEHOUSE_SECRETS_PATH": str(home / "secrets"),
            "DASHBOARDS_PATH": str(self.dashboards),
            "SERVING_STORE_URI": self._address(),
        }

    def _address(self) -> str:
        """Of the store, without its password: that is in a file."""
        url = parse_address(Settings(serving_url=self.store)).url
        return url.set(password="").render_as_string(hide_password=False)

    def _write_secrets(self) -> None:
        folder = self.home / "secrets"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        address = parse_address(Settings(serving_url=self.store))
        is_file = address.database is Database.SQLITE
        made = {"superset_key": secrets.token_urlsafe(42), "admin_password": secrets.token_urlsafe(16)}
        kept = {
            **made,
            "superset_database_url": f"sqlite:///{self.home}/superset.sqlite",
            "mariadb_password": "" if is_file else str(address.url.password),
        }
        for name, value in kept.items():
            if name not in made or not (folder / name).exists():
                (folder / name).touch(mode=0o600)
                (folder / name).write_text(value, encoding="utf-8")
        (self.home / "local_config.py").write_text(_LOCAL_CONFIG, encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersetApi:
    """Its REST API, for a user who has signed in."""

    url: str
    token: str

    @classmethod
    def signed_in(cls, url: str, password: str) -> SupersetApi:
        """Sign in as ``admin``."""
        body = {"username": USER, "password": password, "provider": "db", "refresh": False}
        token = _request(f"{url}/api/v1/security/login", {}, body)["access_token"]
        return cls(url=url, token=token)

    def get(self, path: str) -> dict[str, Any]:
        """What a GET of ``/api/v1/<path>`` answers; HTTPError when it refuses."""
        return _request(f"{self.url}/api/v1/{path}", {"Authorization": f"Bearer {self.token}"})


def _request(url: str, headers: Mapping[str, str], body: object = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"} if data else {}  # Superset refuses a GET that says so and has no body
    request = urllib.request.Request(url, data=data, headers={**kind, **headers})
    with urllib.request.urlopen(request, timeout=120) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
