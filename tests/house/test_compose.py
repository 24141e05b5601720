"""docker-compose.yaml: the versions of the locks, settings that exist, no secret in it, and each service hardened."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_stack.install.secrets_folder import CHOSEN, DERIVED
from spark_jobs.contracts.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "/opt/lakehouse/"
AIRFLOW = {"api-server", "scheduler", "dag-processor", "triggerer"}
SPARK = {"spark-master", "spark-worker-1", "spark-worker-2", "spark-connect"}
POD = {"spark-connect", "scheduler"}
"""They share the network of ``engine``."""
PROFILES = {
    "core": AIRFLOW | SPARK | {"engine", "metadata", "init", "s3", "bucket", "hive-metastore", "mariadb"},
    "sources": {"sqlserver", "erp", "kafka", "kafka-connect", "connectors"},
    "bi": {"trino", "dashboards", "superset"},
}
ONCE = {"init", "bucket", "erp", "connectors", "dashboards"}
WRITE_WHERE_THEY_ARE_INSTALLED = {"sqlserver", "erp", "kafka", "kafka-connect"}
"""Images whose entry points write their settings beside their programs."""


@cache
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
    return document


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    assert found
    return found


SERVICES = sorted(services())


def environment_of(name: str) -> dict[str, str]:
    found: dict[str, str] = services()[name].get("environment", {})
    return found


def lakehouse_variables() -> dict[str, str]:
    found = {
        name: value for each in SERVICES for name, value in environment_of(each).items() if name.startswith(PREFIX)
    }
    assert found
    return found


def locked_version(package: str, lock: str = "requirements.txt") -> str:
    pin = re.search(rf"^{package}==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)
    assert pin
    return pin.group(1)


def dockerfile(folder: str) -> str:
    return (ROOT / "include" / "docker" / folder / "Dockerfile").read_text()


def built_from(folder: str) -> set[str]:
    path = f"include/docker/{folder}/Dockerfile"
    return {name for name in SERVICES if services()[name].get("build", {}).get("dockerfile") == path}


def test_every_part_of_the_stack_is_there_in_its_profile():
    for profile, names in PROFILES.items():
        assert {name for name in SERVICES if services()[name]["profiles"] == [profile]} == names
    assert set(SERVICES) == set().union(*PROFILES.values())


def test_airflow_and_spark_run_from_one_image_of_the_lock():
    """Airflow's tasks, the Spark Connect server and its workers are one version, so client and server cannot differ."""
    tag = re.search(r"^FROM apache/airflow:slim-(\S+)-python(\S+)$", dockerfile("lakehouse"), re.MULTILINE)
    assert tag
    assert tag.groups() == (locked_version("apache-airflow"), "3.11")
    assert "pip install --no-cache-dir --require-hashes -r requirements.txt" in dockerfile("lakehouse")
    assert "python -m local_stack setup --jars-only" in dockerfile("lakehouse")
    ours = built_from("lakehouse")
    assert ours == AIRFLOW | SPARK | {"engine", "init", "bucket", "hive-metastore"}
    assert len({services()[name]["image"] for name in ours}) == 1


def test_superset_is_installed_from_its_lock():
    assert "pip install --no-cache-dir --require-hashes -r /opt/superset/requirements.txt" in dockerfile("superset")
    assert built_from("superset") == {"dashboards", "superset"}
    version = locked_version("apache-superset", "include/docker/superset/requirements.txt")
    assert {services()[name]["image"] for name in built_from("superset")} == {f"sales-lakehouse-superset:{version}"}


@pytest.mark.parametrize("folder", ["lakehouse", "s3", "superset"])
def test_an_image_of_ours_starts_from_an_exact_version_and_ends_as_an_unprivileged_user(folder):
    text = dockerfile(folder)
    (start,) = re.findall(r"^FROM (\S+)$", text, re.MULTILINE)
    assert re.search(r":\S*\d+\.\d+\.\d+", start)
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE)[-1] == "50000"
    for copied in re.findall(r"^COPY (?:--\S+ )?(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_has_an_exact_version(name):
    assert re.search(r":v?\d+(\.\d+|-CU\d+)|trino:\d+$", services()[name]["image"])


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_can_do_no_more_than_it_must(name):
    service = services()[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "pid", "ipc", "devices"} & service.keys()
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert service.get("user", "").split(":")[0] not in ("0", "root")
    if name not in WRITE_WHERE_THEY_ARE_INSTALLED:
        assert service["read_only"] is True
    # An image whose user is not set here says in a comment which one is its own.
    assert service.get("user") or name in WRITE_WHERE_THEY_ARE_INSTALLED | {"connectors"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_says_when_it_is_ready(name):
    """One that runs once is ready when it has ended; all others have a check, and no service waits for less."""
    service = services()[name]
    assert (service["restart"] == "no") == (name in ONCE)
    assert ("healthcheck" in service) == (name not in ONCE)
    for awaited, how in service.get("depends_on", {}).items():
        expected = "service_completed_successfully" if awaited in ONCE else "service_healthy"
        assert how == {"condition": expected}, awaited


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_only_for_what_its_profile_starts(name):
    started = PROFILES["core"] | set().union(*(PROFILES[profile] for profile in services()[name]["profiles"]))
    assert services()[name].get("depends_on", {}).keys() <= started


def test_volumes_networks_and_secrets_are_declared_and_used():
    mounts = [mount.split(":")[0] for name in SERVICES for mount in services()[name].get("volumes", [])]
    assert {mount for mount in mounts if not mount.startswith("./")} == compose()["volumes"].keys()
    assert all((ROOT / mount).is_dir() for mount in mounts if mount.startswith("./"))
    used = {network for name in SERVICES for network in services()[name].get("networks", ["default"])}
    assert used == compose()["networks"].keys()
    given = {secret for name in SERVICES for secret in services()[name].get("secrets", [])}
    assert given == compose()["secrets"].keys()


def test_secrets_are_files_that_make_secrets_makes():
    for name, secret in compose()["secrets"].items():
        assert secret == {"file": f".secrets/{name}"}
        assert name in CHOSEN.keys() | DERIVED.keys()
    for ignored in (".gitignore", ".dockerignore"):
        assert re.search(r"^\.secrets/?$", (ROOT / ignored).read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", SERVICES)
def test_no_secret_is_in_the_file(name):
    """What is called a password is a file's path, or the command that reads it; and only of files the service has."""
    service = services()[name]
    for variable, value in environment_of(name).items():
        if re.search(r"PASSWORD|SECRET|FERNET|SQL_ALCHEMY_CONN|CREDENTIAL", variable):
            assert re.search(r"^(cat )?/run/secrets/|^airflow\.|^\{|^/tmp/passwords.json$", str(value)), variable
    text = json.dumps([service.get(part) for part in ("environment", "command", "entrypoint")])
    read = set(re.findall(r"/run/secrets/([\w.]+)", text))
    assert read <= set(service.get("secrets", []))


def test_every_lakehouse_variable_is_a_setting():
    known = {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}
    sources = [path.read_text() for path in (ROOT / "local_stack").rglob("*.py")]
    own = {name for text in sources for name in re.findall(rf'"({PREFIX}[A-Z_]+)"', text)}
    assert lakehouse_variables().keys() - known - own == set()
    for name in AIRFLOW | SPARK - {"spark-master"}:
        given = {
            key: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", str(v)) for key, v in environment_of(name).items() if key in known
        }
        assert Settings.from_environment(given).base_path == "s3a://lake/sales"


@pytest.mark.parametrize(
    "name", ["LAKEHOUSE_LAKE_SPEC", "AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__CORE__PLUGINS_FOLDER", "AIRFLOW_CONFIG"]
)
def test_paths_into_the_image_exist_in_the_tree(name):
    path = environment_of("scheduler")[name]
    assert path.startswith(INSIDE)
    assert (ROOT / path.removeprefix(INSIDE)).exists()


def test_whoever_reads_landing_files_or_the_lake_has_them():
    """Workers decode landing files where they are; everybody reaches the lake with the same file of keys."""
    for name in SPARK - {"spark-master"} | {"scheduler"}:
        mounts = {mount.split(":")[1] for mount in services()[name]["volumes"]}
        assert environment_of(name)["LAKEHOUSE_LANDING_PATH"] in mounts
        assert "s3_credentials" in services()[name]["secrets"]
        assert environment_of(name)["AWS_ENDPOINT_URL"] == "http://s3:7070"


def test_landing_files_can_be_edited_where_they_are_decoded():
    """An erasure edits them on the executors."""
    for name in SPARK - {"spark-master"} | {"scheduler"}:
        landing = environment_of(name)["LAKEHOUSE_LANDING_PATH"]
        (mount,) = (each for each in services()[name]["volumes"] if each.split(":")[1] == landing)
        assert mount.split(":")[2:] == [], f"{name} may only read the landing files"


def networks_of(name: str) -> set[str]:
    """Whom a service can reach: what shares a network with it. One in the network of another has that one's."""
    mode = services()[name].get("network_mode", "").removeprefix("service:")
    return networks_of(mode) if mode else set(services()[name].get("networks", ["default"]))


def test_what_people_query_with_reaches_neither_spark_nor_airflow_nor_kafka():
    """Spark's driver has open ports on each network that it is on."""
    for name in PROFILES["bi"]:
        assert networks_of(name) == {"bi"}
        reached = {other for other in SERVICES if networks_of(other) & networks_of(name)} - PROFILES["bi"]
        assert reached == {"s3", "hive-metastore", "mariadb", "metadata"}
    for name in {"sqlserver", "erp", "kafka-connect", "connectors"}:
        assert {other for other in SERVICES if networks_of(other) & networks_of(name)} == PROFILES["sources"]


def test_whoever_waits_for_another_can_reach_it():
    for name in SERVICES:
        for awaited in services()[name].get("depends_on", {}):
            ran_once = awaited in ONCE
            assert ran_once or networks_of(name) & networks_of(awaited), (name, awaited)


def test_a_server_that_starts_again_leaves_no_service_in_a_dead_network():
    """Who has another's network keeps the old one when that one starts again: so its owner does nothing, and stays."""
    owners = {
        service["network_mode"].removeprefix("service:") for service in services().values() if "network_mode" in service
    }
    assert owners == {"engine"}
    assert services()["engine"]["entrypoint"] == ["sleep", "infinity"]
    assert "command" not in services()["engine"]
    port = environment_of("spark-connect")["LAKEHOUSE_CONNECT_PORT"]
    for name in POD:
        assert f"/dev/tcp/127.0.0.1/{port}" in " ".join(services()[name]["healthcheck"]["test"]), (
            "seen from where it is"
        )
    assert (
        environment_of("spark-connect")["LAKEHOUSE_DRIVER_HOST"]
        in services()["engine"]["networks"]["compute"]["aliases"]
    )


def test_each_client_of_s3_has_the_key_for_what_it_does():
    """Jobs write, Trino reads, and the key that may do everything is with the server and who makes the bucket."""
    credentials = {
        name: {each for each in service.get("secrets", []) if each.startswith("s3_") and each.endswith("credentials")}
        for name, service in services().items()
    }
    assert {name for name, keys in credentials.items() if keys == {"s3_reader_credentials"}} == {"trino"}
    assert {name for name, keys in credentials.items() if keys == {"s3_root_credentials"}} == {"bucket"}
    assert {name for name, keys in credentials.items() if keys == {"s3_credentials"}} == (
        AIRFLOW | SPARK | {"init", "hive-metastore"}
    ) - {"spark-master"}
    for name, keys in credentials.items():
        for file in keys:
            assert environment_of(name)["AWS_SHARED_CREDENTIALS_FILE"] == f"/run/secrets/{file}", name


def test_pages_are_published_for_this_host_alone():
    published = {name: services()[name]["ports"] for name in SERVICES if services()[name].get("ports")}
    assert published == {
        "api-server": ["127.0.0.1:8080:8080"],
        "trino": ["127.0.0.1:8081:8080"],
        "superset": ["127.0.0.1:8088:8088"],
    }
