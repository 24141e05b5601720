"""The whole stack on one machine: the Spark Connect server and Airflow, started side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from local_stack.install.java import find_java
from local_stack.lakes import make_lakes
from local_stack.servers.airflow_home import AirflowHome
from local_stack.servers.connect_server import start_connect_server, wait_for_connect_server
from local_stack.servers.services import RunFolder


class Stack:
    """Remembered in one run folder; starting it again where it runs is an error of the caller."""

    def __init__(self, path: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        self.folder = RunFolder(path)
        self.environ = {**environ, "JAVA_HOME": str(find_java(environ).home)}
        self.airflow = AirflowHome(self.folder, environ=self.environ)
        self.spark_remote = ""

    @property
    def is_running(self) -> bool:
        """True when any part of it runs."""
        return bool(self.folder.running())

    def start(self, *, ingest_cron: str, with_triggerer: bool = False) -> None:
        """Start everything and wait until it is ready; whoever calls stops it, also when this raises.

        Lakes that are not there yet are made: this stack is for trying things, and its places are its own.
        """
        make_lakes(self.environ)
        server = start_connect_server(self.folder, environ=self.environ)
        self.airflow.prepare(connect_port=server.port, ingest_cron=ingest_cron)
        services = self.airflow.start(with_triggerer=with_triggerer)
        self.spark_remote = wait_for_connect_server(server)
        self.airflow.wait([server, *services])
