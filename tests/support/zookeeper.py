"""A real ZooKeeper, from the jars that come with PySpark, on a free port of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_stack.services import LOOPBACK, free_port
from tests.support.spark_jars import running_spark_jar

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
    with running_spark_jar(folder, ["-Xmx128m"], command, port=port):
        yield f"{LOOPBACK}:{port}"
