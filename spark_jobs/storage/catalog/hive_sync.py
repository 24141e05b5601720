"""Brings a Hive metastore to what a lake's tables are: the metastore says what differs, Hudi's own sync does it.

Hudi's sync (``CALL hive_sync``) makes and changes entries and finds new and vanished partitions itself. What else it
would do is prevented here: it would overwrite an entry of the same name that is not the lake's, show a merge-on-read
table also under its plain name, and leave tables that are gone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.catalogs import HELD, METASTORE, OWNER, SYNCED, Action, CatalogChange, CatalogTable
from spark_jobs.contracts.errors import TransientError
from spark_jobs.storage.catalog.kind import CatalogKind, CatalogRequest
from spark_jobs.storage.catalog.metastore import Metastore
from spark_jobs.storage.catalog.ownership import drop_stale, refuse_foreign
from spark_jobs.storage.catalog.schemas import column_changes
from spark_jobs.storage.procedures import call

_PREFIX = "hoodie.datasource.hive_sync."
_TABLE, _STRATEGY, _KEYS = f"{_PREFIX}table", f"{_PREFIX}table.strategy", f"{_PREFIX}partition_fields"
_PROPERTIES, _MAKES_DATABASE = f"{_PREFIX}table_properties", f"{_PREFIX}auto_create_database"
_INCREMENTAL = "hoodie.meta.sync.incremental"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveSync:
    """One lake and one database of a metastore.

    Attributes:
        metastore: the database.
        lake: the name that marks the lake's own entries.
        wanted: what the metastore should say, by name.
        paths: the folder of each, as Spark finds it.
        spark: in whose session Hudi's sync runs; a plan needs none.
        is_partial: ``wanted`` is not the whole lake: nothing is dropped.
        looks_again: every table is brought, with all its partitions looked through.
    """

    metastore: Metastore
    lake: str
    wanted: Mapping[str, CatalogTable]
    paths: Mapping[str, str]
    spark: SparkSession | None = None
    is_partial: bool = False
    looks_again: bool = False

    @property
    def database(self) -> str:
        """The database that is kept."""
        return self.metastore.database

    def plan(self) -> list[CatalogChange]:
        """Every change, in the order in which they are carried out; changes nothing."""
        found = self.metastore.tables()
        changes = [c for table in self.wanted.values() for c in self._of_table(table, found.get(table.name))]
        parameters = {name: entry["parameters"] for name, entry in found.items()}
        return [*changes, *([] if self.is_partial else drop_stale(parameters, self.wanted, self.lake))]

    def apply(self, changes: Sequence[CatalogChange]) -> None:
        """Carry out what was planned. Refused entries are left as they are.

        Raises:
            TransientError: Hudi's sync did not get through; another run goes on from there.
        """
        for change in changes:
            log.info("%s: %s %s", change.name, change.action.value, change.what)
            if change.action is Action.DROP:
                self.metastore.drop_table(change.name)
            elif change.action in (Action.CREATE, Action.UPDATE):
                self._bring(self.wanted[change.name])

    def _of_table(self, table: CatalogTable, found: Mapping[str, Any] | None) -> Iterator[CatalogChange]:
        if found is None:
            yield CatalogChange(name=table.name, action=Action.CREATE, what=f"{len(table.columns)} columns")
        elif refused := refuse_foreign(table.name, found["parameters"], self.lake):
            yield refused
        elif details := [*_differences(table, found), *(["every partition"] if self.looks_again else [])]:
            yield CatalogChange(name=table.name, action=Action.UPDATE, what="; ".join(details))

    def _bring(self, table: CatalogTable) -> None:
        if self.spark is None:
            raise ValueError("a metastore is updated in a Spark session")
        options = {
            _TABLE: table.name,
            _STRATEGY: "RO" if table.is_read_optimized else "RT",
            _PROPERTIES: f"{OWNER}={self.lake}",
            _MAKES_DATABASE: "true",
            _KEYS: ",".join(column.name for column in table.partition_keys),
            _INCREMENTAL: str(not self.looks_again).lower(),
        }
        with _session_options(self.spark, options):
            try:
                given = {"metastore_uri": self.metastore.uri, "mode": "hms"}
                call(self.spark, table.name, self.paths[table.name], "hive_sync", given, database=self.database)
            except Exception as error:
                if "hive sync failed" not in str(error):
                    raise
                raise TransientError(
                    f"{table.name}: Hudi's sync with {self.metastore.uri} failed; run sync apply again"
                ) from error
        # Hudi's sync gives its properties to entries that it makes, and never again.
        self.metastore.set_parameter(table.name, HELD, table.parameters.get(HELD, "no"))


def _differences(table: CatalogTable, found: Mapping[str, Any]) -> Iterator[str]:
    yield from column_changes({column.name: column.type for column in table.columns}, found["columns"])
    if (was := found["parameters"].get(HELD, "no")) != (held := table.parameters.get(HELD, "no")):
        yield f"held: {was} to {held}"
    if (was := found["parameters"].get(SYNCED, "")) != table.instant:
        yield f"synced {was or 'never to its end'} to {table.instant}"


@contextmanager
def _session_options(spark: SparkSession, options: Mapping[str, str]) -> Iterator[None]:
    """Options that the procedure takes from the session alone; afterwards the session is as it was.

    The procedure leaves some in the session itself, where the next table's would be mixed with them.
    """
    for key, value in options.items():
        if value:
            spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in (*options, f"{_PREFIX}mode"):
            spark.conf.unset(key)


def _open(request: CatalogRequest) -> HiveSync:
    return HiveSync(
        metastore=Metastore(request.address, request.database),
        lake=request.lake,
        wanted=request.wanted,
        paths=request.paths,
        spark=request.session,
        is_partial=request.is_partial,
        looks_again=request.looks_again,
    )


HIVE_METASTORE = CatalogKind(form=METASTORE, open=_open, applies_in_spark=True)
