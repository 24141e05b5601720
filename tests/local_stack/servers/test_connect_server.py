"""What the Spark Connect server refuses to start with; that it works is shown with jobs, under tests/plugins."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers.connect_server import start_connect_server, wait_for_connect_server
from local_stack.servers.services import LOOPBACK, RunFolder


def test_missing_jars_are_named(tmp_path: Path) -> None:
    environ = {**os.environ, "LAKEHOUSE_JARS_PATH": str(tmp_path)}
    with pytest.raises(SetupError, match=r"no Spark Connect jar in .*; run make setup"):
        start_connect_server(RunFolder(tmp_path / "run"), environ=environ)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        environ = {**os.environ, "LAKEHOUSE_CONNECT_PORT": str(taken.getsockname()[1])}
        with pytest.raises(SetupError, match="is taken; stop what listens there"):
            start_connect_server(RunFolder(tmp_path), environ=environ)


def test_a_server_that_ends_while_starting_says_where_to_look(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no room left')"]
    server = RunFolder(tmp_path).start("connect", command, environment={}, port=9)
    with pytest.raises(SetupError, match=r"ended while starting; its log .*connect.log says why: no room left"):
        wait_for_connect_server(server)
