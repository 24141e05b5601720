"""Lakes that take the snapshot of a table in a real database, and what such a table is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from local_stack.servers.databases import PASSWORD, USER, Server
from local_stack.servers.services import LOOPBACK
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.snapshots import Snapshot
from spark_jobs.sources.discovery import read_snapshots
from spark_jobs.storage.timeline import Timeline
from tests.support.lakes import SpecLake


def jdbc_url(server: Server, database: str, *, port: int = 0) -> str:
    """The address of a database, on another port where one is given."""
    return f"jdbc:{server.name}://{LOOPBACK}:{port or server.port}/{database}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLake(SpecLake):
    """A lake with a spec of its own that reads tables of one database."""

    url: str
    password: str = PASSWORD

    @property
    def settings(self) -> Settings:
        own = replace(super(SnapshotLake, self).settings, jdbc_url=self.url)
        return replace(own, jdbc_user=USER, jdbc_password=self.password)

    def take(self, table: str, **options: Any) -> JobResult:
        """Run the job as a connector called ``erp`` would send the table's changes."""
        return self.run("snapshot", table=table, server_name="erp", **options)

    def snapshot(self, table: str, *, log: str = "sales_log") -> Snapshot:
        """What the log's commits say of the snapshot of a table."""
        return read_snapshots(Timeline(table=log, path=self.path(log)))[f"erp.{table}"]
