"""A Hive metastore from PySpark's own jars, for this machine alone, with its database in a folder (Derby)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from local_stack.servers.ports import free_port
from local_stack.servers.services import Program, RunFolder, Service, wait_for_server
from local_stack.servers.spark_class import build_spark_class
from spark_jobs.contracts.jars import find_jars
from spark_jobs.contracts.settings import Settings
from spark_jobs.session import build_session_options

NAME = "metastore"
START_SECONDS = 120.0
_CLASS = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_HADOOP = "spark.hadoop."
_SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.async.log.enabled": "false",
    # Databases that are made without a place; the tables of a lake all have theirs.
    "hive.metastore.warehouse.dir": "{home}/warehouse",
    "javax.jdo.option.ConnectionURL": "jdbc:derby:;databaseName={home}/database;create=true",
}


def start_metastore(folder: RunFolder, *, environ: Mapping[str, str] = os.environ) -> Service:
    """Start it; :func:`wait_for_metastore` says when it answers."""
    return build_metastore(folder.path, port=free_port(), environ=environ).start(folder)


def build_metastore(folder: Path, *, port: int, environ: Mapping[str, str] = os.environ) -> Program:
    """The metastore on ``port``, its database below ``folder``. It reaches ``s3a://`` as the jobs do."""
    home = folder / NAME
    home.mkdir(parents=True, exist_ok=True)
    settings = Settings.from_environment(environ)
    storage = {
        name.removeprefix(_HADOOP): value
        for name, value in build_session_options(settings, environ).items()
        if name.startswith(_HADOOP)
    }
    values = {**{name: value.format(home=home) for name, value in _SETTINGS.items()}, **storage}
    command = [_CLASS, "-p", str(port), *(part for n, v in values.items() for part in ("--hiveconf", f"{n}={v}"))]
    options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", f"-Dderby.stream.error.file={home}/derby.log"]
    jars = [jar for jar in find_jars(settings) if _is_storage(jar)]
    return build_spark_class(NAME, command, cwd=home, port=port, options=options, jars=jars, environ=environ)


def wait_for_metastore(server: Service) -> str:
    """Wait until it answers; gives its address, ``thrift://host:port``. SetupError when it does not."""
    return f"thrift://{wait_for_server(server, what='the Hive metastore', seconds=START_SECONDS)}"


def _is_storage(jar: str) -> bool:
    """True for the jars that reach object storage; Hudi's bundle has another Hive in it."""
    return Path(jar).name.startswith(("org.apache.hadoop_", "com.amazonaws_"))
