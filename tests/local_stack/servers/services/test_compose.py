"""docker-compose.yaml starts each service as `local_stack` starts it without containers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_stack.errors import SetupError
from local_stack.install.secrets_folder import BUCKET, make_secrets
from local_stack.install.trino_install import VERSION as TRINO_VERSION
from local_stack.layout import PROJECT_ROOT
from local_stack.servers import serve, trino_server
from local_stack.servers.airflow_home import AirflowSecrets, build_environment
from local_stack.servers.airflow_seed import CONNECTION
from local_stack.servers.connect_server import secret_options
from local_stack.servers.s3_gateway import VERSION as GATEWAY_VERSION
from local_stack.servers.services import Program
from spark_jobs.contracts.settings import Settings

SERVICES: dict[str, Any] = yaml.safe_load((PROJECT_ROOT / "docker-compose.yaml").read_text())["services"]
DOCKER = PROJECT_ROOT / "include" / "docker"
SERVED = {
    "spark-master": ("master", 7077),
    "spark-worker-1": ("worker", 7078),
    "spark-worker-2": ("worker", 7078),
    "hive-metastore": ("metastore", 9083),
}
URL = "spark://spark-master:7077"
needs_java = pytest.mark.services
"""The Connect server's guard is compiled before it is started."""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture
def program(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Program]:
    """What `serve` would become in a container, from its words and its environment."""
    return lambda name: _become(name, run_folder, monkeypatch)


def expanded(text: str, **variables: str) -> str:
    """What compose makes of ``${NAME:-default}``."""
    return re.sub(r"\$\{(\w+):-(.*?)\}", lambda found: variables.get(found[1]) or found[2], text)


def _become(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    assert SERVICES[name]["entrypoint"] == ["python", "-m", "local_stack"]
    command, *words = SERVICES[name]["command"]
    assert command == "serve"
    make_secrets(folder / "secrets")
    for variable, value in SERVICES[name]["environment"].items():
        monkeypatch.setenv(variable, expanded(str(value)).replace("/run/secrets", str(folder / "secrets")))
    monkeypatch.setenv("LAKEHOUSE_RUN_PATH", str(folder))
    return serve.build(serve.parse(words), folder)


@pytest.mark.parametrize("name", SERVED)
def test_a_server_of_ours_is_served_on_the_port_that_is_checked(name, program):
    server, port = SERVED[name]
    built = program(name)
    assert (SERVICES[name]["command"][1], built.port) == (server, port)
    (checked,) = re.findall(r"/dev/tcp/[\w.-]+/(\d+)", " ".join(SERVICES[name]["healthcheck"]["test"]))
    assert int(checked) == port
    # The name it gives itself is the one by which the others find it.
    if "--host" in built.command:
        assert built.command[built.command.index("--host") + 1] == name


def test_workers_find_the_master(program):
    assert [program(f"spark-worker-{number}").command[-1] for number in (1, 2)] == [URL, URL]


@needs_java
def test_the_connect_server_finds_the_master_and_is_found_by_workers(program):
    connect = program("spark-connect")
    assert f"--master {URL} " in " ".join(connect.command)
    assert {"spark.driver.host=spark-connect", "spark.driver.bindAddress=0.0.0.0"} <= set(connect.command)
    assert "SPARK_LOCAL_IP" not in connect.environment
    assert f"/{connect.port}" in " ".join(SERVICES["spark-connect"]["healthcheck"]["test"])


@needs_java
def test_a_server_for_this_machine_alone_stays_on_it(run_folder, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_RUN_PATH", str(run_folder))
    connect = serve.build(serve.parse(["connect"]), run_folder)
    assert {"spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1"} <= set(connect.command)
    assert connect.environment["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_master_workers_and_driver_share_a_secret_by_a_file(program):
    """Whoever reaches one of their ports, from a network that a service is also on, is refused without it."""
    for name in ("spark-master", "spark-worker-1", "spark-worker-2"):
        command = program(name).command
        file = Path(command[command.index("--properties-file") + 1])
        settings = dict(line.split(" ", 1) for line in file.read_text().splitlines())
        assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
        assert settings["spark.authenticate.secret"] not in " ".join(command)
    assert "spark.properties" in SERVICES["spark-connect"]["secrets"]


def test_a_secret_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SetupError, match=r"spark\.properties cannot be read; run make secrets"):
        secret_options({"LAKEHOUSE_SPARK_PROPERTIES": str(tmp_path / "spark.properties")})
    assert secret_options({}) == []


def test_a_worker_has_room_beside_what_it_gives(program):
    command = program("spark-worker-1").command
    given = int(command[command.index("--memory") + 1].removesuffix("g"))
    limit = int(SERVICES["spark-worker-1"]["deploy"]["resources"]["limits"]["memory"].removesuffix("G"))
    assert given * 2 <= limit


def test_jobs_find_the_metastore(program):
    port = program("hive-metastore").port
    assert SERVICES["scheduler"]["environment"]["LAKEHOUSE_CATALOG"] == f"thrift://hive-metastore:{port}"


def test_the_tasks_engine_is_the_server_beside_the_scheduler():
    """Spark Connect has no login: it is reached over the network that the scheduler shares, and not from outside."""
    connection = json.loads(SERVICES["scheduler"]["environment"][f"AIRFLOW_CONN_{CONNECTION.upper()}"])
    port = int(SERVICES["spark-connect"]["environment"]["LAKEHOUSE_CONNECT_PORT"])
    assert connection == {"conn_type": "spark_connect", "host": "127.0.0.1", "port": port}
    assert {SERVICES[name]["network_mode"] for name in ("scheduler", "spark-connect")} == {"service:engine"}


FOR_MANY = {
    # What differs from one person's Airflow, and why.
    "core.parallelism": "a host of its own",
    "core.simple_auth_manager_passwords_file": "copied from a secret",
    "core.execution_api_server_url": "the service's name",
    "api.host": "every interface of the container",
    "api.port": "Airflow's default",
    "api.base_url": "as published",
    "api.workers": "Airflow's default",
    "scheduler.enable_health_check": "the container's check uses it",
    "dag_processor.parsing_processes": "Airflow's default",
    "dag_processor.min_file_process_interval": "Airflow's default",
    "dag_processor.refresh_interval": "Airflow's default",
    "logging.base_log_folder": "a volume",
    "logging.colored_console_log": "Airflow's default",
    "core.dags_folder": "in the image",
    "core.plugins_folder": "in the image",
}


def test_airflow_has_the_settings_that_it_has_without_containers(tmp_path):
    keys = AirflowSecrets(password="p", jwt="j", api="a", fernet="f")
    native = build_environment(tmp_path, keys, 8080, {})
    prefix = "AIRFLOW__"
    compose = {name: str(value) for name, value in SERVICES["scheduler"]["environment"].items()}
    for name, value in native.items():
        section, _, key = name.removeprefix(prefix).lower().partition("__")
        if not name.startswith(prefix) or f"{section}.{key}" in FOR_MANY:
            continue
        by_file = compose.get(f"{name}_CMD")
        assert by_file or compose.get(name, "").lower() == value.lower(), name
    assert compose["AIRFLOW__CORE__DAGS_FOLDER"].endswith("/dags")
    assert all(SERVICES[name]["environment"] == SERVICES["scheduler"]["environment"] for name in ("api-server", "init"))


@pytest.mark.parametrize("name", ["api-server", "scheduler", "dag-processor", "triggerer"])
def test_every_part_of_airflow_is_started_by_its_own_word(name):
    command = SERVICES[name]["command"]
    assert command == [name] or command[-1].endswith(f"exec airflow {name}")


def test_trinos_files_are_what_it_is_started_with():
    environ = SERVICES["hive-metastore"]["environment"]
    metastore = SERVICES["scheduler"]["environment"]["LAKEHOUSE_CATALOG"]
    expected = trino_server.build_settings(port=8080, metastore=metastore, environ=environ)
    expected["config.properties"]["catalog.config-dir"] = "/etc/trino/catalog"
    for name, values in expected.items():
        assert (DOCKER / "trino" / name).read_text() == trino_server.format_settings(values)
    assert (DOCKER / "trino" / "jvm.config").read_text().split() == list(trino_server.JVM)
    assert f"node.environment={trino_server.ENVIRONMENT}\n" in (DOCKER / "trino" / "node.properties").read_text()
    assert SERVICES["trino"]["image"] == f"trinodb/trino:{TRINO_VERSION}"


def test_the_s3_server_is_the_gateway_that_the_tests_build():
    assert re.search(rf"^FROM versity/versitygw:{GATEWAY_VERSION}$", (DOCKER / "s3" / "Dockerfile").read_text(), re.M)
    assert SERVICES["s3"]["image"] == f"sales-lakehouse-s3:{GATEWAY_VERSION.removeprefix('v')}"
    bucket = Settings(base_path=SERVICES["scheduler"]["environment"]["LAKEHOUSE_BASE_PATH"]).base_path.split("/")[2]
    assert SERVICES["bucket"]["command"] == ["bucket", bucket, "--policy", "/run/secrets/s3_bucket_policy.json"]
    assert bucket == BUCKET


def test_the_connector_sends_what_the_lake_spec_reads():
    """The topic that Debezium makes of the table is one that the spec listens to, and `ingest` reads it from Kafka."""
    source = json.loads((DOCKER / "erp" / "source.json").read_text())
    spec = yaml.safe_load((PROJECT_ROOT / "include" / "lakes" / "sales.yaml").read_text())
    topic = f"{source['topic.prefix']}.{source['database.names']}.{source['table.include.list']}"
    assert topic.endswith(".SALES")
    assert "*.SALES" in spec["source"]["topics"]
    assert not any("landing" in json.dumps(SERVICES[name]) for name in ("kafka", "kafka-connect", "connectors"))
    broker = SERVICES["kafka-connect"]["environment"]["BOOTSTRAP_SERVERS"]
    for name in ("scheduler", "spark-connect", "spark-worker-1", "spark-worker-2"):
        text = SERVICES[name]["environment"]["LAKEHOUSE_KAFKA_SERVERS"]
        assert expanded(text) == "", "core alone has no Kafka"
        assert expanded(text, LAKEHOUSE_KAFKA_SERVERS=broker) == broker
    assert f"LAKEHOUSE_KAFKA_SERVERS={broker}" in (PROJECT_ROOT / "docs" / "compose.md").read_text()
    columns = set(re.findall(r"(\w+) (?:BIGINT|NVARCHAR|DECIMAL|DATETIME)", (DOCKER / "erp" / "sales.sql").read_text()))
    assert columns == {column["source"] for column in spec["source"]["columns"]}
    unit = next(column["unit"] for column in spec["source"]["columns"] if column["type"] == "timestamp")
    assert (source["time.precision.mode"], unit["sqlserver"]) == ("connect", "milliseconds")
