"""A real ZooKeeper, from the jars that come with PySpark, on a free port of this machine."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_stack.connect_server import spark_home
from local_stack.java import find_java
from local_stack.services import LOOPBACK, free_port
from tests.support.processes import end_with_the_tests, wait_until

TICK_MS = 500
"""Sessions may be as short as two of these."""


@contextmanager
def running_zookeeper(folder: Path) -> Iterator[str]:
    """Start it with its data in ``folder``; gives ``host:port``, and ends it by its process id."""
    port = free_port()
    config = folder / "zoo.cfg"
    settings = {
        "tickTime": TICK_MS,
        "dataDir": folder / "data",
        "clientPort": port,
        "clientPortAddress": LOOPBACK,
        "admin.enableServer": "false",
    }
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    jars = ":".join(str(jar) for jar in sorted((spark_home() / "jars").glob("*.jar")))
    java = str(find_java().home / "bin" / "java")
    command = [java, "-Xmx128m", "-cp", jars, "org.apache.zookeeper.server.ZooKeeperServerMain", str(config)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, preexec_fn=end_with_the_tests)
    try:
        wait_until(lambda: _answers(port), "ZooKeeper answers")
        yield f"{LOOPBACK}:{port}"
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
