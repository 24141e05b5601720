"""Trino over a metastore of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_stack.install.trino_install import install_trino
from local_stack.servers.services import RunFolder
from local_stack.servers.trino_server import start_trino, wait_for_trino


@contextmanager
def running_trino(folder: Path, *, metastore: str) -> Iterator[str]:
    """Start it; gives its address, and ends it by its process id."""
    started = RunFolder(folder)
    installed = install_trino()
    with started.stopping():
        yield wait_for_trino(start_trino(started, installed, metastore=metastore))
