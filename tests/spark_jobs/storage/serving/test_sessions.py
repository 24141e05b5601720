"""Sessions as each database wants them; one that cannot be opened needs no server."""

from __future__ import annotations

import socket

import pytest

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.serving.address import parse_address
from spark_jobs.storage.serving.sessions import ServingSessions


def test_mysql_gets_no_vacuum_because_it_purges_by_itself():
    with socket.socket() as held:  # bound and not listening
        held.bind(("127.0.0.1", 0))
        url = f"mysql://me@127.0.0.1:{held.getsockname()[1]}/db"
        sessions = ServingSessions(parse_address(Settings(serving_url=url)), wait_seconds=1)
        sessions.vacuum()
        with pytest.raises(TransientError), sessions.open():
            pytest.fail("a session without a server")
