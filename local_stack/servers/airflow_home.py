"""Airflow with a home of its own: every setting by environment, SQLite, LocalExecutor, loopback, stopped by pid."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_stack.errors import SetupError
from local_stack.lakes import expected_dag_ids
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.airflow_api import AirflowApi, ApiUnreachableError
from local_stack.servers.ports import choose_port
from local_stack.servers.services import LOOPBACK, RunFolder, Service

PORT_VARIABLE = "LAKEHOUSE_UI_PORT"
DATABASE_VARIABLE = "LAKEHOUSE_AIRFLOW_DB"
PREFERRED_PORT = 8080
START_SECONDS = 600.0
IDLE_SLEEP_SECONDS = 0.2
"""Between two looks of the scheduler when there was nothing to do: each DAG that waits for data waits for one."""
USER = "admin"
_KEYS = "secrets.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowSecrets:
    """Keys and the password of one home, made once; they live in a file that only its owner can read."""

    password: str
    jwt: str
    api: str
    fernet: str

    @classmethod
    def load(cls, path: Path) -> AirflowSecrets:
        """Read the file, or make it."""
        if path.exists():
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        made = cls(
            password=secrets.token_urlsafe(12),
            jwt=secrets.token_hex(32),
            api=secrets.token_hex(32),
            fernet=base64.urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii"),
        )
        _write_private(path, {name: getattr(made, name) for name in cls.__slots__})
        return made


class AirflowHome:
    """One Airflow: prepares its database, starts and finds its processes, and speaks to its API."""

    def __init__(self, folder: RunFolder, *, environ: Mapping[str, str] = os.environ) -> None:
        self.folder = folder
        self.home = folder.path / "airflow"
        self.home.mkdir(exist_ok=True)
        running = folder.find("api-server")
        self.port = running.port if running else choose_port(PORT_VARIABLE, environ, preferred=PREFERRED_PORT)
        self.secrets = AirflowSecrets.load(self.home / _KEYS)
        self.environment = build_environment(self.home, self.secrets, self.port, environ)

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def api(self) -> AirflowApi:
        """A client of its REST API."""
        return AirflowApi(self.url, user=USER, password=self.secrets.password)

    def forget_runs(self) -> None:
        """Remove what an Airflow that has ended left here, its database with its runs among it; the keys stay.

        A database elsewhere (``LAKEHOUSE_AIRFLOW_DB``) is left as it is.
        """
        for entry in self.home.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _KEYS:
                entry.unlink()

    def prepare(self, *, connect_port: int, ingest_cron: str) -> None:
        """Make or update the database, the connection ``lakehouse_spark`` and the variables."""
        _write_private(self.home / "passwords.json", {USER: self.secrets.password})
        facts = json.dumps({"host": LOOPBACK, "port": connect_port, "ingest_cron": ingest_cron})
        log = self.folder.log("seed")
        with log.open("ab") as stream:
            command = [sys.executable, "-m", "local_stack.servers.airflow_seed", facts]
            done = subprocess.run(command, env=self.environment, cwd=self.home, stdout=stream, stderr=subprocess.STDOUT)
        if done.returncode:
            raise SetupError(f"Airflow's database in {self.home} cannot be prepared; look at {log}")

    def start(self, *, with_triggerer: bool) -> list[Service]:
        """Start the parts; :meth:`wait` says when they are ready."""
        parts = {
            "api-server": ("api-server",),
            "scheduler": ("scheduler", "--skip-serve-logs"),
            "dag-processor": ("dag-processor",),
        }
        if with_triggerer:
            parts["triggerer"] = ("triggerer", "--skip-serve-logs")
        return [
            self.folder.start(
                name,
                [sys.executable, "-m", "local_stack.servers.keep_running", sys.executable, "-m", "airflow", *words],
                environment=self.environment,
                port=self.port if name == "api-server" else 0,
                cwd=self.home,
            )
            for name, words in parts.items()
        ]

    def wait(self, services: list[Service]) -> None:
        """Wait until the scheduler and the DAG processor report in and the DAGs of every lake are known."""
        dag_ids = expected_dag_ids(self.environment)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for service in services:
                if not service.is_alive:
                    raise SetupError(
                        f"Airflow's {service.name} ended while starting; its log is {service.log}: {service.tail(1)}"
                    )
            if self._is_ready(dag_ids):
                return
            time.sleep(0.5)
        raise SetupError(
            f"Airflow was not ready in {START_SECONDS:.0f} s; look at the logs in {self.folder.path / 'logs'}"
        )

    def _is_ready(self, dag_ids: set[str]) -> bool:
        try:
            return self.api.is_healthy() and self.api.dag_ids() >= dag_ids
        except ApiUnreachableError:
            return False


def build_environment(home: Path, keys: AirflowSecrets, port: int, environ: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of this Airflow; nothing of another Airflow's leaks in.

    Its database is SQLite, which needs no server; a busy Airflow finds that locked now and then, and wants PostgreSQL.
    """
    url = f"http://{LOOPBACK}:{port}"
    settings: dict[str, dict[str, object]] = {
        "core": {
            "dags_folder": PROJECT_ROOT / "dags",
            "plugins_folder": PROJECT_ROOT / "plugins",
            "executor": "LocalExecutor",
            "parallelism": 4,
            "load_examples": False,
            "dags_are_paused_at_creation": False,
            "fernet_key": keys.fernet,
            "execution_api_server_url": f"{url}/execution/",
            "simple_auth_manager_users": f"{USER}:admin",
            "simple_auth_manager_passwords_file": home / "passwords.json",
            "hostname_callable": "socket.gethostname",
        },
        "database": {"sql_alchemy_conn": environ.get(DATABASE_VARIABLE) or f"sqlite:///{home / 'airflow.db'}"},
        "api": {
            "host": LOOPBACK,
            "port": port,
            "base_url": url,
            "secret_key": keys.api,
            "workers": 1,
            "instance_name": "Lakehouse",
        },
        "api_auth": {"jwt_secret": keys.jwt},
        "scheduler": {"enable_health_check": False, "scheduler_idle_sleep_time": IDLE_SLEEP_SECONDS},
        "dag_processor": {"parsing_processes": 1, "min_file_process_interval": 120, "refresh_interval": 30},
        "logging": {"base_log_folder": home / "logs", "colored_console_log": False},
        "usage_data_collection": {"enabled": False},
    }
    kept = {name: value for name, value in environ.items() if not name.startswith(("AIRFLOW_", "_AIRFLOW_"))}
    return {
        **kept,
        **{
            f"AIRFLOW__{part}__{key}".upper(): str(value)
            for part, keys_ in settings.items()
            for key, value in keys_.items()
        },
        "AIRFLOW_HOME": str(home),
        "PYTHONPATH": str(PROJECT_ROOT),
        "PATH": f"{Path(sys.executable).parent}:{environ.get('PATH', os.defpath)}",
        "TZ": "UTC",
        "NO_COLOR": "1",
    }


def _write_private(path: Path, value: Mapping[str, str]) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(value, file)
