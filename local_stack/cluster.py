"""A standalone Spark cluster on this machine: a master and workers, as processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from local_stack.connect_server import spark_home
from local_stack.java import find_java
from local_stack.layout import PROJECT_ROOT
from local_stack.services import LOOPBACK, RunFolder, free_port, wait_for_server

START_SECONDS = 120.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


def start_cluster(
    folder: RunFolder, *, workers: int = 2, cores: int = 1, memory: str = "1g", environ: Mapping[str, str] = os.environ
) -> str:
    """Start the master and its workers, for this machine alone; gives ``spark://host:port`` once all have joined.

    Raises:
        SetupError: one of them ended, or hangs.
    """
    variables = {
        **environ,
        "JAVA_HOME": str(find_java(environ).home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_NO_DAEMONIZE": "true",
        "SPARK_WORKER_DIR": str(folder.path / "work"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(PROJECT_ROOT),
        "TZ": "UTC",
    }
    start = str(spark_home() / "bin" / "spark-class")
    port = free_port()
    command = [start, _MASTER, "--host", LOOPBACK, "--port", str(port), "--webui-port", str(free_port())]
    master = folder.start("master", command, environment=variables, port=port)
    url = f"spark://{wait_for_server(master, what='the Spark master', seconds=START_SECONDS)}"
    started = []
    for number in range(1, workers + 1):
        web, own = free_port(), free_port()
        size = ("--cores", str(cores), "--memory", memory)
        place = ("--host", LOOPBACK, "--port", str(own), "--webui-port", str(web))
        command = [start, _WORKER, *size, *place, url]
        started.append(folder.start(f"worker-{number}", command, environment=variables, port=own))
    for number, worker in enumerate(started, 1):
        wait_for_server(worker, what=f"Spark worker {number}", seconds=START_SECONDS)
    return url
