"""From an Airflow connection to the command and environment that run a job: Spark Connect or spark-submit.

Pure functions; Airflow, Spark and the network stay out. The connection's type decides:

- ``spark_connect``: a thin client process, ``LAKEHOUSE_SPARK_REMOTE=sc://host:port`` points it at the warm server;
- ``spark``: ``spark-submit`` in client mode to the connection's master, with the zip of ``spark_jobs`` and the jars.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote
from uuid import uuid4

from lakehouse_provider import PROJECT_ROOT
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PREFIX, Settings

SPARK_CONNECT = "spark_connect"
SPARK_SUBMIT = "spark"
INTERRUPT = """
import os, socket, urllib.parse
remote = os.environ["LAKEHOUSE_SPARK_REMOTE"]
address = urllib.parse.urlsplit(remote)
socket.create_connection((address.hostname, address.port or 15002), timeout=3).close()
from pyspark.sql import SparkSession
SparkSession.builder.remote(remote).getOrCreate().interruptAll()
"""
"""Ends what a killed client left running in its session on the server; a process of its own, quick without a server."""


class ConnectionFacts(Protocol):
    """What is read of an Airflow connection."""

    conn_id: str
    conn_type: str
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    extra_dejson: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCommand:
    """A command line, its whole environment, and what to run when it was killed."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    afterwards: tuple[str, ...] = ()


def build_job_command(
    connection: ConnectionFacts, job_line: Sequence[str], *, environment: Mapping[str, str], work_path: Path
) -> JobCommand:
    """The command that runs ``JOB --option value …`` on the engine of ``connection``.

    ``work_path`` is a folder for this run alone; the zip for spark-submit is made there. SettingsError when the
    connection is of another type or says something that cannot work.
    """
    environment = {**environment, "PYTHONPATH": _python_path(environment), "TZ": "UTC", "PYTHONUNBUFFERED": "1"}
    if connection.conn_type == SPARK_CONNECT:
        environment["LAKEHOUSE_SPARK_REMOTE"] = connect_url(connection)
        command = (sys.executable, "-m", "spark_jobs.entrypoint", *job_line)
        afterwards = (sys.executable, "-c", INTERRUPT)
        return JobCommand(arguments=command, environment=environment, afterwards=afterwards)
    if connection.conn_type == SPARK_SUBMIT:
        environment.pop("LAKEHOUSE_SPARK_REMOTE", None)
        environment |= _explicit_paths(environment)
        environment["LAKEHOUSE_SPARK_MASTER"] = master = master_url(connection)
        environment.setdefault("PYSPARK_PYTHON", sys.executable)
        command = (*_submit_line(connection, master, environment, work_path), *job_line)
        return JobCommand(arguments=command, environment=environment)
    raise SettingsError(
        f"connection {connection.conn_id} is of type {connection.conn_type!r}; "
        f"make it {SPARK_CONNECT!r} or {SPARK_SUBMIT!r}"
    )


def connect_url(connection: ConnectionFacts) -> str:
    """``sc://host:port`` with the login as user, the password as token and ``use_ssl`` from the extra.

    The session's id is chosen here, new for each call, so that another process can end what runs in the session.
    """
    if not connection.host:
        raise SettingsError(
            f"connection {connection.conn_id} names no host; give the Spark Connect server's host and port"
        )
    address = connection.host.removeprefix("sc://").rstrip("/")
    if connection.port:
        address = f"{address}:{connection.port}"
    facts = {
        "session_id": str(uuid4()),
        "user_id": connection.login,
        "token": connection.password,
        "use_ssl": str(connection.extra_dejson["use_ssl"]).lower() if "use_ssl" in connection.extra_dejson else None,
    }
    parameters = ";".join(f"{name}={quote(value, safe='')}" for name, value in facts.items() if value)
    return f"sc://{address}/;{parameters}"


def master_url(connection: ConnectionFacts) -> str:
    """The master for spark-submit, for example ``local[2]``, ``yarn`` or ``spark://host:7077``."""
    if not connection.host:
        raise SettingsError(
            f"connection {connection.conn_id} names no host; give the master, for example local[*] or yarn"
        )
    if connection.extra_dejson.get("deploy-mode", "client") != "client":
        raise SettingsError(
            f"connection {connection.conn_id}: deploy-mode must be client, because the driver's last line is the result"
        )
    return f"{connection.host}:{connection.port}" if connection.port else connection.host


def build_library_zip(path: Path) -> Path:
    """Zip the package ``spark_jobs`` for ``--py-files``; the same content gives the same bytes."""
    package = PROJECT_ROOT / "spark_jobs"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            entry = zipfile.ZipInfo(str(source.relative_to(PROJECT_ROOT)))
            archive.writestr(entry, source.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def _submit_line(
    connection: ConnectionFacts, master: str, environment: Mapping[str, str], work_path: Path
) -> tuple[str, ...]:
    settings = Settings.from_environment(environment)
    jars = sorted(str(jar) for jar in Path(settings.jars_path).glob("*.jar"))
    if not jars:
        raise SettingsError(f"no jars in {settings.jars_path}; run make setup or set LAKEHOUSE_JARS_PATH")
    configuration = {"spark.ui.enabled": "false", "spark.log.level": "WARN", **connection.extra_dejson.get("conf", {})}
    options = [part for name, value in sorted(configuration.items()) for part in ("--conf", f"{name}={value}")]
    return (
        str(connection.extra_dejson.get("spark-binary") or _spark_submit()),
        *("--master", master),
        *("--deploy-mode", "client"),
        *("--name", "lakehouse"),
        *("--driver-memory", settings.driver_memory),
        *("--jars", ",".join(jars)),
        *("--py-files", str(build_library_zip(work_path / "spark_jobs.zip"))),
        *options,
        str(PROJECT_ROOT / "spark_jobs" / "entrypoint.py"),
    )


def _explicit_paths(environment: Mapping[str, str]) -> dict[str, str]:
    """Paths that default to the project, named: inside a zip the library cannot know where the project is."""
    settings = Settings.from_environment(environment)
    names = [field.name for field in fields(Settings) if field.name.endswith(("_path", "_spec"))]
    return {f"{PREFIX}{name.upper()}": str(getattr(settings, name)) for name in names}


def _spark_submit() -> Path:
    """The spark-submit inside the installed pyspark, found without importing it."""
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise SettingsError(
            "pyspark is not installed beside Airflow; run make setup, or name spark-binary in the connection's extra"
        )
    return Path(found.submodule_search_locations[0]) / "bin" / "spark-submit"


def _python_path(environment: Mapping[str, str]) -> str:
    parts = [str(PROJECT_ROOT), *environment.get("PYTHONPATH", "").split(":")]
    return ":".join(dict.fromkeys(part for part in parts if part))
