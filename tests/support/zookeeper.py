"""A real ZooKeeper, from the jars that come with PySpark, on a free port of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, RunFolder, wait_for_server
from local_stack.servers.spark_class import build_spark_class

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
    command = ["org.apache.zookeeper.server.ZooKeeperServerMain", str(config)]
    program = build_spark_class("zookeeper", command, cwd=folder, port=port, options=["-Xmx128m"])
    started = RunFolder(folder)
    with started.stopping():
        server = program.start(started)
        yield wait_for_server(server, what="ZooKeeper", seconds=60.0)
