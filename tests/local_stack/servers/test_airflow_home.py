"""Airflow's home: everything by environment, secrets readable by their owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers.airflow_home import AirflowHome, AirflowSecrets, build_environment
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, RunFolder
from spark_jobs.contracts.settings import PROJECT_ROOT

KEYS = AirflowSecrets(password="p", jwt="j", api="a", fernet="f")
FOREIGN = {
    "PATH": "/usr/bin",
    "AIRFLOW_HOME": "/elsewhere",
    "AIRFLOW__CORE__DAGS_FOLDER": "/elsewhere/dags",
    "AIRFLOW_CONN_LAKEHOUSE_SPARK": "http://elsewhere",
    "_AIRFLOW_PROCESS_CONTEXT": "server",
    "LAKEHOUSE_BASE_PATH": "/lake",
}


def test_nothing_of_another_airflow_leaks_in(tmp_path: Path) -> None:
    environment = build_environment(tmp_path, KEYS, 1234, FOREIGN)
    assert [value for value in environment.values() if "elsewhere" in value] == []
    assert "_AIRFLOW_PROCESS_CONTEXT" not in environment
    assert environment["AIRFLOW_HOME"] == str(tmp_path)
    assert environment["LAKEHOUSE_BASE_PATH"] == "/lake"
    assert environment["AIRFLOW__CORE__DAGS_FOLDER"] == str(PROJECT_ROOT / "dags")


def test_it_listens_on_the_loopback_interface_alone(tmp_path: Path) -> None:
    environment = build_environment(tmp_path, KEYS, 1234, {})
    assert environment["AIRFLOW__API__HOST"] == LOOPBACK
    assert environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == f"http://{LOOPBACK}:1234/execution/"
    assert environment["AIRFLOW__USAGE_DATA_COLLECTION__ENABLED"] == "False"


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    made = AirflowSecrets.load(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert AirflowSecrets.load(file) == made
    assert len({made.password, made.jwt, made.api, made.fernet}) == 4
    assert made != AirflowSecrets.load(tmp_path / "other.json")


def test_runs_of_an_earlier_lake_are_forgotten_and_the_keys_stay(tmp_path: Path) -> None:
    home = AirflowHome(RunFolder(tmp_path), environ=os.environ)
    (home.home / "airflow.db").write_text("an ingest that failed", encoding="utf-8")
    (home.home / "logs" / "dag_id=ingest_sales").mkdir(parents=True)
    home.forget_runs()
    assert [path.name for path in home.home.iterdir()] == ["secrets.json"]
    assert AirflowHome(RunFolder(tmp_path), environ=os.environ).secrets == home.secrets


def test_two_homes_have_ports_and_secrets_of_their_own(tmp_path: Path) -> None:
    ports = [str(free_port()) for _ in range(2)]
    homes = [
        AirflowHome(RunFolder(tmp_path / port), environ={**os.environ, "LAKEHOUSE_UI_PORT": port}) for port in ports
    ]
    assert [home.url for home in homes] == [f"http://{LOOPBACK}:{port}" for port in ports]
    assert homes[0].secrets != homes[1].secrets


def test_a_wrong_port_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="LAKEHOUSE_UI_PORT='x' is not a port"):
        AirflowHome(RunFolder(tmp_path), environ={"LAKEHOUSE_UI_PORT": "x"})


def test_a_part_that_dies_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: dict[str, list[str]] = {}

    def start(_folder: RunFolder, name: str, command: list[str], **_: object) -> None:
        commands[name] = command

    monkeypatch.setattr(RunFolder, "start", start)
    AirflowHome(RunFolder(tmp_path), environ={**os.environ, "LAKEHOUSE_UI_PORT": str(free_port())}).start(
        with_triggerer=True
    )
    assert commands.keys() == {"api-server", "scheduler", "dag-processor", "triggerer"}
    assert all(command[1:3] == ["-m", "local_stack.servers.keep_running"] for command in commands.values())
