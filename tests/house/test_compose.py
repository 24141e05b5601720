"""docker-compose.yaml runs the versions of the lock, with settings that exist and without a secret in it."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.contracts.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW_PARTS = {"api-server", "scheduler", "dag-processor", "triggerer"}
INSIDE = "/opt/lakehouse/"


@cache
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
    assert document["services"]
    return document


def environments() -> dict[str, dict[str, str]]:
    found = {name: service["environment"] for name, service in compose()["services"].items()}
    assert all(found.values())
    return found


def lakehouse_variables() -> dict[str, str]:
    found = {
        name: value
        for environment in environments().values()
        for name, value in environment.items()
        if name.startswith(PREFIX)
    }
    assert found
    return found


def locked_version(package: str) -> str:
    pin = re.search(rf"^{package}==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert pin
    return pin.group(1)


def dockerfile() -> str:
    texts = {service["build"]["dockerfile_inline"] for service in compose()["services"].values() if "build" in service}
    assert len(texts) == 1
    return texts.pop()


def test_every_part_of_the_stack_is_there():
    assert set(compose()["services"]) == AIRFLOW_PARTS | {"metadata", "init", "spark-connect"}
    commands = {name: compose()["services"][name]["command"] for name in AIRFLOW_PARTS}
    assert commands == {name: [name] for name in AIRFLOW_PARTS}


def test_the_image_is_airflows_of_the_locked_version_and_python():
    tag = re.search(r"^FROM apache/airflow:slim-(\S+)-python(\S+)$", dockerfile(), re.MULTILINE)
    assert tag
    assert tag.groups() == (locked_version("apache-airflow"), "3.11")


def test_spark_and_everything_else_in_the_image_is_the_lock():
    """Airflow's tasks and the Spark Connect server run from one image, so client and server cannot differ."""
    assert "pip install --no-cache-dir --require-hashes -r requirements.txt" in dockerfile()
    assert "python -m local_stack setup --jars-only" in dockerfile()
    images = {compose()["services"][name]["image"] for name in AIRFLOW_PARTS | {"init", "spark-connect"}}
    assert len(images) == 1


def test_every_image_has_an_exact_version():
    images = {service["image"] for service in compose()["services"].values()}
    assert [image for image in images if not re.search(r":\d+\.\d+", image)] == []


def test_every_lakehouse_variable_is_a_setting():
    known = {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}
    sources = [path.read_text() for path in (ROOT / "local_stack").glob("*.py")]
    known |= {name for text in sources for name in re.findall(rf'"({PREFIX}[A-Z_]+)"', text)}
    assert lakehouse_variables().keys() - known == set()
    given = {name: value for name, value in lakehouse_variables().items() if name != f"{PREFIX}CONNECT_PORT"}
    assert Settings.from_environment(given).base_path == given["LAKEHOUSE_BASE_PATH"]


@pytest.mark.parametrize("name", ["LAKEHOUSE_LAKE_SPEC", "AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__CORE__PLUGINS_FOLDER"])
def test_paths_into_the_image_exist_in_the_tree(name):
    path = environments()["scheduler"][name]
    assert path.startswith(INSIDE)
    assert (ROOT / path.removeprefix(INSIDE)).exists()


def test_lake_and_landing_lie_on_the_volume():
    mounts = compose()["services"]["spark-connect"]["volumes"]
    target = next(mount.split(":")[1] for mount in mounts if mount.startswith("lake:"))
    for name in ("LAKEHOUSE_BASE_PATH", "LAKEHOUSE_LANDING_PATH"):
        assert lakehouse_variables()[name].startswith(f"{target}/")


def test_secrets_come_from_outside():
    secret = re.compile(r"PASSWORD|SECRET|FERNET|SQL_ALCHEMY_CONN")
    values = {
        name: value
        for environment in environments().values()
        for name, value in environment.items()
        if secret.search(name)
    }
    assert len(values) == 5
    assert {name: value for name, value in values.items() if not re.search(r"\$\{[A-Z_]+:\?[^}]+\}", value)} == {}


def test_the_tasks_engine_is_the_server_beside_the_scheduler():
    """Spark Connect has no login: it is reached over the network that the scheduler shares, and not from outside."""
    services = compose()["services"]
    connection = json.loads(environments()["scheduler"]["AIRFLOW_CONN_LAKEHOUSE_SPARK"])
    assert connection["conn_type"] == "spark_connect"
    assert connection["host"] == "127.0.0.1"
    assert str(connection["port"]) == environments()["spark-connect"]["LAKEHOUSE_CONNECT_PORT"]
    assert services["scheduler"]["network_mode"] == "service:spark-connect"
    assert services["spark-connect"]["command"] == ["python", "-m", "local_stack", "connect"]
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8080:8080"]
