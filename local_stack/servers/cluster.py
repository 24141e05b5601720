"""A standalone Spark cluster: a master and workers, as processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_stack.install.java import find_java
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.connect_server import secret_options, spark_home
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, Program, RunFolder, wait_for_server

START_SECONDS = 120.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlace:
    """Where one of them listens: a name of this machine that the others know, and a port."""

    host: str = LOOPBACK
    port: int

    @property
    def url(self) -> str:
        """What a master there is called."""
        return f"spark://{self.host}:{self.port}"


def start_cluster(
    folder: RunFolder, *, workers: int = 2, cores: int = 1, memory: str = "1g", environ: Mapping[str, str] = os.environ
) -> str:
    """Start the master and its workers, for this machine alone; gives ``spark://host:port`` once all have joined.

    Raises:
        SetupError: one of them ended, or hangs.
    """
    place = ClusterPlace(port=free_port())
    master = build_master(folder.path, place, environ=environ).start(folder)
    wait_for_server(master, what="the Spark master", seconds=START_SECONDS)
    started = [
        build_worker(
            *(folder.path, place.url, ClusterPlace(port=free_port())),
            name=f"worker-{number}",
            cores=cores,
            memory=memory,
            environ=environ,
        ).start(folder)
        for number in range(1, workers + 1)
    ]
    for number, worker in enumerate(started, 1):
        wait_for_server(worker, what=f"Spark worker {number}", seconds=START_SECONDS)
    return place.url


def build_master(folder: Path, place: ClusterPlace, *, environ: Mapping[str, str] = os.environ) -> Program:
    """The master of a cluster."""
    return _build("master", [_MASTER], place, folder=folder, environ=environ)


def build_worker(
    folder: Path,
    master: str,
    place: ClusterPlace,
    *,
    name: str = "worker",
    cores: int,
    memory: str,
    environ: Mapping[str, str] = os.environ,
) -> Program:
    """A worker of the cluster at ``master`` (``spark://host:port``); cores and memory are what it has to give."""
    return _build(
        name, [_WORKER, "--cores", str(cores), "--memory", memory, master], place, folder=folder, environ=environ
    )


def _build(name: str, words: list[str], place: ClusterPlace, *, folder: Path, environ: Mapping[str, str]) -> Program:
    variables = {
        **environ,
        "JAVA_HOME": str(find_java(environ).home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_NO_DAEMONIZE": "true",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(PROJECT_ROOT),
        "TZ": "UTC",
    }
    if place.host == LOOPBACK:
        variables["SPARK_LOCAL_IP"] = LOOPBACK
    where = ["--host", place.host, "--port", str(place.port), "--webui-port", str(free_port())]
    command = [str(spark_home() / "bin" / "spark-class"), words[0], *secret_options(environ), *where, *words[1:]]
    return Program(name=name, command=command, environment=variables, port=place.port, cwd=folder)
