"""From an Airflow connection to the command and environment that run a job.

Pure functions; Airflow, Spark and the network stay out. The connection's type and ``engine`` in its extra decide:

- ``spark_connect``: a thin client process, ``LAKEHOUSE_SPARK_REMOTE=sc://host:port`` points it at the warm server;
- ``spark``: ``spark-submit`` to the connection's master, with the zip of ``spark_jobs`` and the jars;
- ``spark`` with engine ``emr_serverless``: a job run of an EMR Serverless application, with the same.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from lakehouse_provider.launch.emr_request import build_emr_command
from lakehouse_provider.launch.engine_conf import LaunchEngine, engine_of
from lakehouse_provider.launch.job_command import ConnectionFacts, JobCommand, python_path
from lakehouse_provider.launch.submission import CLUSTER, Submission, deploy_mode
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.job_options.registry import LOCAL_JOBS

SPARK_CONNECT = "spark_connect"
SPARK_SUBMIT = "spark"
INTERRUPT = """
import os, socket, urllib.parse
remote = os.environ["LAKEHOUSE_SPARK_REMOTE"]
address = urllib.parse.urlsplit(remote)
socket.create_connection((address.hostname, address.port or 15002), timeout=3).close()
from pyspark.sql import SparkSession
from spark_jobs.contracts.connect_sessions import sessions_of
from spark_jobs.contracts.settings import Settings
for each in sessions_of(remote, Settings.from_environment().write_threads):
    SparkSession.builder.remote(each).create().interruptAll()
"""
"""Ends what a killed client left running in its sessions on the server; a process of its own, quick without a server.
"""


def build_job_command(
    connection: ConnectionFacts,
    job_line: Sequence[str],
    *,
    environment: Mapping[str, str],
    work_path: Path,
    secrets: Mapping[str, str] | None = None,
    attempt: str = "",
    session: str = "",
) -> JobCommand:
    """The command that runs ``JOB --option value …`` on the engine of ``connection``.

    SettingsError when the connection is of another type or says something that cannot work, or the job is of this
    machine alone.

    Args:
        connection: names the engine.
        job_line: the job with its options.
        environment: of this process.
        work_path: a folder for this run alone; the zip that is sent is made there.
        secrets: variables that this job needs, and that go to a process of this machine only.
        attempt: a name that no other try of any task has; a new one when it is left out.
        session: the id of the session of a Spark Connect server; a new one when it is left out.
    """
    secrets, attempt = secrets or {}, attempt or str(uuid4())
    environment = {
        **environment,
        "PYTHONPATH": python_path(*environment.get("PYTHONPATH", "").split(":")),
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
    }
    if connection.conn_type == SPARK_CONNECT:
        environment["LAKEHOUSE_SPARK_REMOTE"] = connect_url(connection, session)
        command = (sys.executable, "-m", "spark_jobs.entrypoint", *job_line)
        afterwards = (sys.executable, "-c", INTERRUPT)
        return JobCommand(arguments=command, environment={**environment, **secrets}, afterwards=afterwards)
    if connection.conn_type == SPARK_SUBMIT:
        if job_line[0] in LOCAL_JOBS:
            raise SettingsError(
                f"connection {connection.conn_id}: {job_line[0]} is not sent to a cluster; run it where the project "
                f"is, with python -m spark_jobs.entrypoint {job_line[0]}"
            )
        environment.pop("LAKEHOUSE_SPARK_REMOTE", None)
        is_emr = engine_of(connection) is LaunchEngine.EMR_SERVERLESS
        if is_emr or deploy_mode(connection) == CLUSTER:
            _check_secrets(connection, secrets)
        else:
            environment |= secrets
        submission = Submission(
            connection=connection, job_line=job_line, environment=environment, work_path=work_path, attempt=attempt
        )
        return build_emr_command(submission) if is_emr else submission.command()
    raise SettingsError(
        f"connection {connection.conn_id} is of type {connection.conn_type!r}; "
        f"make it {SPARK_CONNECT!r} or {SPARK_SUBMIT!r}"
    )


def connect_url(connection: ConnectionFacts, session: str = "") -> str:
    """``sc://host:port`` with the login as user, the password as token and ``use_ssl`` from the extra.

    The session's id is chosen here, a new one when none is given, so that another process can end what runs in it.
    """
    if connection.extra_dejson.get("engine"):
        raise SettingsError(f"connection {connection.conn_id}: engine is for type {SPARK_SUBMIT!r}; take it out")
    if not connection.host:
        raise SettingsError(
            f"connection {connection.conn_id} names no host; give the Spark Connect server's host and port"
        )
    address = connection.host.removeprefix("sc://").rstrip("/")
    if connection.port:
        address = f"{address}:{connection.port}"
    facts = {
        "session_id": session or str(uuid4()),
        "user_id": connection.login,
        "token": connection.password,
        "use_ssl": str(connection.extra_dejson["use_ssl"]).lower() if "use_ssl" in connection.extra_dejson else None,
    }
    parameters = ";".join(f"{name}={quote(value, safe='')}" for name, value in facts.items() if value)
    return f"sc://{address}/;{parameters}"


def _check_secrets(connection: ConnectionFacts, secrets: Mapping[str, str]) -> None:
    """A secret sent to a driver elsewhere could be read by others, so its cluster has to supply it."""
    configured = tuple(connection.extra_dejson.get("conf", {}))
    for name in secrets:
        if not any(setting.endswith(f".{name}") for setting in configured):
            raise SettingsError(
                f"connection {connection.conn_id}: this job needs {name}, and a driver elsewhere is sent no secrets; "
                f"let its cluster set the variable (docs/cluster.md, Secrets), or give the task a connection of its own"
            )
