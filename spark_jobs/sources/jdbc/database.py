"""A database queried and read through Spark's JDBC source, so that no other driver is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.connectors.address import JdbcAddress
from spark_jobs.connectors.dialect import Dialect, select
from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import JdbcColumn
from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError, TransientError
from spark_jobs.contracts.names import spell
from spark_jobs.contracts.settings import Settings

_FETCH_ROWS = "5000"
"""Rows that come at a time; without it some drivers hold a whole part in memory."""
_KEY = "part_key"
PART, PLACE = "part", "place"
_MOST_SHOWN = 200

_DRIVER_MESSAGE = re.compile(r"(?:\w+\.)+(?!Spark)\w*SQL\w*Exception[:)] ?([^\n]*)")
"""A driver's message in what Spark raises, in process or over Spark Connect."""
_NO_DRIVER = re.compile(r"ClassNotFoundException|No suitable driver")
_REFUSED = re.compile(
    r"authentication failed|Access denied for user|Login failed|no pg_hba\.conf entry|not permitted to log in"
    r"|database .* does not exist|Unknown database|Cannot open database|password was provided|no password",
    re.IGNORECASE,
)
_NO_RIGHTS = re.compile(r"permission denied|permission was denied|command denied|privilege", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"refused|Socket fail|TCP/IP connection|connection attempt failed|timed? ?out|unknown host|Connection reset"
    r"|I/O error|canceling statement|max_statement_time|closed|terminat|shutting down|starting up|Communications link",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcDatabase:
    """The database that the settings name.

    Raises:
        SettingsError: it does not let us in, or does not let us query it.
        TransientError: it does not answer, or stops to.
    """

    spark: SparkSession
    address: JdbcAddress
    user: str
    password: str = field(repr=False)
    timeout_seconds: int = 600

    @classmethod
    def of(cls, spark: SparkSession, settings: Settings) -> JdbcDatabase:
        """The database of the settings; SettingsError when they name none."""
        address = JdbcAddress.parse(settings.jdbc_url)
        return cls(
            spark=spark,
            address=address,
            user=settings.jdbc_user,
            password=settings.jdbc_password,
            timeout_seconds=settings.jdbc_timeout_seconds,
        )

    @property
    def url(self) -> str:
        """Its address, with what the driver is to wait at most."""
        return self.address.with_timeouts(self.timeout_seconds)

    @property
    def dialect(self) -> Dialect:
        """Its SQL."""
        return self.address.dialect

    def query(self, query: str, *, session_init: str = "") -> list[dict[str, Any]]:
        """The rows of a query by the names of its columns; its session runs ``session_init`` first."""
        options = {**self._options(session_init), "queryTimeout": str(self.timeout_seconds)}
        with self.querying():
            rows_df = self.spark.read.format("jdbc").options(**options, url=self.url, query=query).load()
            return [row.asDict() for row in rows_df.collect()]

    def columns(self, table: SourceTable) -> tuple[list[JdbcColumn], list[str]]:
        """The table's columns in their order, and the names of those whose type is none that is read.

        Raises:
            ContractError: there is no such table, or the user may not see it.
        """
        rows = sorted(self.query(self.dialect.columns(table)), key=lambda row: int(row["place"]))
        if not rows:
            raise ContractError(
                f"--table {table}: {self.address.shown} has no such table, or its user may not see it; give the "
                f"name as the database keeps it, capitals and small letters apart"
            )
        columns = {row["name"]: self.dialect.column(row["name"], row["type"], row["digits"]) for row in rows}
        return [each for each in columns.values() if each], [name for name, each in columns.items() if not each]

    def primary_key(self, table: SourceTable) -> tuple[str, ...]:
        """The columns of the table's primary key, in the key's order; none when it has no primary key."""
        rows = self.query(self.dialect.primary_key(table))
        return tuple(row["name"] for row in sorted(rows, key=lambda row: int(row["place"])))

    def read(
        self, table: SourceTable, columns: Sequence[JdbcColumn], *, key: str, predicates: Sequence[str]
    ) -> DataFrame:
        """Rows of the table, one task for each of the predicates on ``part_key``, which is the column ``key``.

        Returns:
            ``part``, the number of the predicate; ``place``, of the row in it; and a column of texts for each of
            ``columns``. Read again, it is what the table has then: whoever uses it twice pins it.
        """
        sql = self.dialect
        texts = [f"{column.as_text(sql.quoted(column.name))} AS c{at}" for at, column in enumerate(columns)]
        keys = [f"{sql.quoted(key)} AS {_KEY}"] if key else []
        relation = f"({select([*texts, *keys], sql.table(table))}) snapshot_rows"
        options = {**self._options(sql.session_init), "fetchsize": _FETCH_ROWS}
        with self.querying():
            rows_df = self.spark.read.jdbc(self.url, relation, predicates=list(predicates), properties=options)
        number = F.monotonically_increasing_id()
        return rows_df.select(
            F.spark_partition_id().alias(PART),
            (number - F.shiftleft(F.spark_partition_id().cast("bigint"), 33)).alias(PLACE),
            *(f"c{at}" for at in range(len(columns))),
        )

    @staticmethod
    def part_key() -> str:
        """What predicates call the column that parts are made by."""
        return _KEY

    @contextmanager
    def querying(self) -> Iterator[None]:
        """Turn what Spark says of a failed connection or query into an error that says what to do."""
        try:
            yield
        except LakehouseError:
            raise
        except Exception as error:
            if (translated := self._translated(str(error))) is None:
                raise
            raise translated from error

    def _options(self, session_init: str) -> dict[str, str]:
        given = {"driver": self.address.driver, "user": self.user, "password": self.password}
        return {**given, **({"sessionInitStatement": session_init} if session_init else {})}

    def _translated(self, message: str) -> LakehouseError | None:
        where = self.address.shown
        if _NO_DRIVER.search(message):
            return SettingsError(
                f"Spark has no driver {self.address.driver}; put it beside its jars, or run: make setup"
            )
        match = _DRIVER_MESSAGE.search(message)
        if not match:
            return None
        reason = spell(match[1].strip().rstrip("."))[:_MOST_SHOWN]
        if _REFUSED.search(reason):
            return SettingsError(
                f"the database at {where} refuses access ({reason}); correct LAKEHOUSE_JDBC_URL, "
                f"LAKEHOUSE_JDBC_USER or LAKEHOUSE_JDBC_PASSWORD"
            )
        if _NO_RIGHTS.search(reason):
            return SettingsError(
                f"the database at {where} does not let its user do this ({reason}); grant what docs/snapshot.md names"
            )
        if _NO_ANSWER.search(reason):
            return TransientError(
                f"the database at {where} does not answer ({reason}); see whether it runs, correct "
                f"LAKEHOUSE_JDBC_URL, or raise LAKEHOUSE_JDBC_TIMEOUT_SECONDS, and run the job again"
            )
        return TransientError(f"the database at {where} could not be read ({reason}); nothing of it was written since")
