"""One Spark Connect server from the installed pyspark: the warm session that jobs share on one machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from local_stack.errors import SetupError
from local_stack.install.java import find_java
from local_stack.install.scala_jar import LOOPBACK_ONLY, LOOPBACK_ONLY_CLASS, build_scala_jar
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.ports import choose_port
from local_stack.servers.services import LOOPBACK, Program, RunFolder, Service, run_path, wait_for_server
from spark_jobs.contracts.settings import Settings
from spark_jobs.session import build_session_options

NAME = "connect"
PORT_VARIABLE = "LAKEHOUSE_CONNECT_PORT"
DRIVER_HOST_VARIABLE = "LAKEHOUSE_DRIVER_HOST"
PROPERTIES_VARIABLE = "LAKEHOUSE_SPARK_PROPERTIES"
"""A file of Spark's properties with the secret that master, workers and driver share: never in a command line."""
ANYWHERE = "0.0.0.0"
START_SECONDS = 120.0
_CONNECT_JAR = "spark-connect_"
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


def start_connect_server(folder: RunFolder, *, environ: Mapping[str, str] = os.environ) -> Service:
    """Start it; :func:`wait_for_connect_server` says when it answers. Raises as :func:`build_connect_server`."""
    return build_connect_server(folder.path, environ=environ).start(folder)


def build_connect_server(folder: Path, *, environ: Mapping[str, str] = os.environ) -> Program:
    """The server, for clients of this machine alone, working in ``folder``.

    The port is ``LAKEHOUSE_CONNECT_PORT`` or a free one. On a cluster of other machines its executors reach it by the
    name ``LAKEHOUSE_DRIVER_HOST``. SetupError without Java 17, jars or that port.
    """
    settings = Settings.from_environment(environ)
    jars = _jars(settings)
    port = choose_port(PORT_VARIABLE, environ)
    home, java_home = spark_home(), find_java(environ).home
    connect_jar = next(jar for jar in jars if _CONNECT_JAR in jar)
    guard = build_scala_jar(
        LOOPBACK_ONLY, run_path(environ) / "jars", java_home=java_home, spark_home=home, libraries=[connect_jar]
    )
    path = ":".join(part for part in (str(PROJECT_ROOT), environ.get("PYTHONPATH", "")) if part)
    environment = {
        **environ,
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(home),
        "PYTHONPATH": path,
        "PYSPARK_PYTHON": sys.executable,
        "TZ": "UTC",
    }
    environment.pop("LAKEHOUSE_SPARK_REMOTE", None)
    if not environ.get(DRIVER_HOST_VARIABLE):
        environment["SPARK_LOCAL_IP"] = LOOPBACK
    command = [
        *(str(home / "bin" / "spark-submit"), "--class", _CLASS),
        *_submit_options(settings, [*jars, str(guard)], environ),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
    ]
    return Program(name=NAME, command=command, environment=environment, port=port, cwd=folder)


def wait_for_connect_server(server: Service) -> str:
    """Wait until the server listens, which it does last; gives its address, ``sc://host:port``.

    Raises:
        SetupError: it ended, or hangs.
    """
    return f"sc://{wait_for_server(server, what='the Spark Connect server', seconds=START_SECONDS)}"


def _jars(settings: Settings) -> list[str]:
    jars = sorted(str(jar) for jar in Path(settings.jars_path).absolute().glob("*.jar"))
    if not any(_CONNECT_JAR in jar for jar in jars):
        raise SetupError(f"no Spark Connect jar in {settings.jars_path}; run make setup, or set LAKEHOUSE_JARS_PATH")
    return jars


def _submit_options(settings: Settings, jars: list[str], environ: Mapping[str, str]) -> list[str]:
    host = environ.get(DRIVER_HOST_VARIABLE)
    configuration = {
        **build_session_options(settings, environ),
        "spark.ui.enabled": "false",
        "spark.connect.grpc.interceptor.classes": LOOPBACK_ONLY_CLASS,
        "spark.driver.bindAddress": ANYWHERE if host else LOOPBACK,
        "spark.driver.host": host or LOOPBACK,
    }
    configuration.pop("spark.jars", None)
    options = [part for name, value in sorted(configuration.items()) for part in ("--conf", f"{name}={value}")]
    return [
        *secret_options(environ),
        *("--master", settings.spark_master),
        *("--driver-memory", settings.driver_memory),
        *("--name", "lakehouse-connect"),
        *("--jars", ",".join(jars)),
        *options,
    ]


def secret_options(environ: Mapping[str, str]) -> list[str]:
    """Words for the file of :data:`PROPERTIES_VARIABLE`, none without one. SetupError when it cannot be read."""
    file = environ.get(PROPERTIES_VARIABLE, "")
    if file and not os.access(file, os.R_OK):
        raise SetupError(f"{file} cannot be read; run make secrets, or correct {PROPERTIES_VARIABLE}")
    return ["--properties-file", file] if file else []


def spark_home() -> Path:
    """The installed pyspark; SetupError when there is none."""
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise SetupError("pyspark is not installed in this Python; run make setup and use .venv/bin/python")
    return Path(found.submodule_search_locations[0])
