"""A source that fails over to a restored dump, in the middle of being followed into a lake.

Another server of its kind takes its place at the same address, with what was dumped before the source's last changes.
Its log of changes begins again, below the positions that the lake knows. `ingest` has to stop on it; its message has
the command that opens an epoch, which is run as it is written there. Then a snapshot sets what the dump did not have
any more. In the end the lake has to have what the source has.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from local_stack.demos.job_command import run_job
from local_stack.demos.live_source import COMPARED, SalesTable, Statement
from local_stack.errors import SetupError
from local_stack.servers.databases import PASSWORD, USER, Server, running
from local_stack.servers.dumps import restore
from local_stack.servers.services import LOOPBACK
from spark_jobs.contracts.errors import TransientError

LIMIT_SECONDS = 300.0
LOST = Statement(
    title="after the dump a sale goes to another agent",
    sql="UPDATE {table} SET {agent_id} = 8, {agent_name} = 'agent 8' WHERE {sale_id} = 19",
    sale=19,
    shows={"agent_id": 8},
)
"""Done at the source alone: the restored one does not have it, the lake does."""
FIRST = Statement(
    title="fifty sales are signed at the restored source",
    sql="UPDATE {table} SET {status_id} = 9, {status_name} = 'signed again' WHERE {sale_id} BETWEEN 101 AND 150",
    sale=150,
    shows={"status_id": 9},
)
"""More events than the quarantine takes of positions that fell."""
_COMMAND = re.compile(r"source new-epoch .*? --yes")


def turn_log(server: Server) -> None:
    """Have the server begin new files of its log of changes, as it does after some time of use."""
    for _ in range(4):
        if server.name == "postgresql":
            server.admin("SELECT pg_switch_wal(), txid_current()")
        else:
            server.admin("FLUSH BINARY LOGS")


@contextmanager
def restored(source: SalesTable, dump: Path) -> Iterator[SalesTable]:
    """The table of a new server at the source's address, with what is in the dump; the source's server is stopped."""
    source.server.stop()
    with running(type(source.server)(port=source.server.port)) as server:
        table = SalesTable(server)
        restore(server, table.database, dump)
        yield table


def open_epoch(environ: Mapping[str, str], report: Callable[[str], None]) -> None:
    """Run `ingest` until it stops because positions fell, and then the command that it says.

    Raises:
        SetupError: a job failed for another reason.
        TransientError: it did not stop.
    """
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        try:
            run_job(["ingest"], environ)
        except SetupError as error:
            found = _COMMAND.search(str(error))
            if found is None:
                raise
            report(f"  ingest stopped: {error}")
            _, *words = shlex.split(found[0])
            run_job(["source", *words, "--because", "restored from a dump"], environ)
            report(f"  opened: {found[0]}")
            return
    raise TransientError(f"ingest did not stop in {LIMIT_SECONDS:.0f} s although positions fell")


def take_snapshot(table: SalesTable, environ: Mapping[str, str]) -> None:
    """Read the table once more with the job `snapshot`, and split it. SetupError when a job fails."""
    own = {
        **environ,
        "LAKEHOUSE_JDBC_URL": f"jdbc:{table.server.name}://{LOOPBACK}:{table.server.port}/{table.database}",
        "LAKEHOUSE_JDBC_USER": USER,
        "LAKEHOUSE_JDBC_PASSWORD": PASSWORD,
    }
    options = ["--table", table.pattern, "--server-name", "erp", "--partition-column", "SaleId", "--again"]
    run_job(["snapshot", *options], own)
    run_job(["split"], environ)


def differences(table: SalesTable, lake: Mapping[int, Mapping[str, object]]) -> list[str]:
    """Each sale that is not in the lake as it is at the source; rows of the lake by the id of their sale."""
    there = table.rows()
    here = {sale: _plain(row) for sale, row in lake.items() if not row["is_deleted"]}
    return [
        f"sale {sale}: {there.get(sale, 'no row')} at the source, {here.get(sale, 'no row')} in the lake"
        for sale in sorted({*there, *here})
        if there.get(sale) != here.get(sale)
    ]


def _plain(row: Mapping[str, object]) -> dict[str, object]:
    """The compared columns, with times as the source has them, which is in UTC and does not say so."""
    values = {name: row[name] for name in COMPARED}
    return {
        name: value.replace(tzinfo=None) if isinstance(value, datetime) else value for name, value in values.items()
    }
