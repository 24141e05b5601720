"""A dump of a database is the same database on another server."""

from __future__ import annotations

import pytest

from local_stack.demos.live_failover import LOST, restored, turn_log
from local_stack.demos.live_source import STATEMENTS, SalesTable
from local_stack.demos.live_values import Documents
from local_stack.servers.databases import MariaDB, PostgreSQL, Server, running
from local_stack.servers.dumps import dump
from local_stack.servers.ports import free_port

pytestmark = pytest.mark.services


@pytest.mark.parametrize("kind", [PostgreSQL, MariaDB])
def test_a_restored_source_has_what_was_dumped_and_lower_positions(kind: type[Server]) -> None:
    with running(kind(port=free_port())) as server:
        turn_log(server)
        table = SalesTable(server)
        table.fill(20)
        documents = Documents(server=server, database=table.database)
        documents.create()
        for statement in STATEMENTS:
            table.execute(statement)
        documents.change()
        before, file = table.rows(), dump(server, table.database)
        table.execute(LOST)
        assert table.rows() != before
        position = position_of(server)
        with restored(table, file) as other:
            assert (other.server.port, other.database) == (server.port, table.database)
            assert other.rows() == before
            assert position_of(other.server) < position


def position_of(server: Server) -> tuple[object, ...]:
    """How far its log of changes is: its file and the place there."""
    if server.name == "postgresql":
        return server.admin("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")[0]
    name, place, *_ = server.admin("SHOW MASTER STATUS")[0]
    return name, place
