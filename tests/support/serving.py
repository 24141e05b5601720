"""A serving store in one of the three databases: the mart that tests put there, and what a dashboard sees of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from pyspark.sql import types as T

from local_stack.servers.databases import Server
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.serving.address import Database, parse_address
from spark_jobs.storage.serving.states import KeyedRow, MartState
from spark_jobs.storage.serving.store import ServingStore
from tests.support.processes import wait_until

MART = "agent_totals"
SCHEMA = T.StructType(
    [
        T.StructField("agent_id", T.LongType()),
        T.StructField("agent_name", T.StringType()),
        T.StructField("total", T.DecimalType(38, 4)),
    ]
)
START = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An empty database; ``server`` is None for SQLite, whose server is this process."""

    url: str
    database: Database
    name: str
    server: Server | None

    def store(self, url: str = "", *, wait_seconds: int = 60) -> ServingStore:
        """The store, as a job opens it."""
        return ServingStore(parse_address(Settings(serving_url=url or self.url)), wait_seconds=wait_seconds)

    @contextmanager
    def session(self) -> Iterator[sa.Connection]:
        """A dashboard's session: it reads, each statement on its own."""
        with _engine(self.url).connect() as connection:
            yield connection

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, in a session of its own."""
        with self.session() as connection:
            result = connection.exec_driver_sql(sql)
            return [tuple(row) for row in result] if result.returns_rows else []

    def tables(self) -> set[str]:
        """Names of the tables that are there."""
        with self.session() as connection:
            return set(sa.inspect(connection).get_table_names())


SERVERS = {"postgresql": Database.POSTGRESQL, "mariadb": Database.MYSQL}
"""The fixtures of the servers (tests/spark_jobs/conftest.py), and what each is an example of."""


def database_of(server: Server) -> Place:
    """A new database of a server."""
    name = server.new_database()
    return Place(url=server.url(name), database=SERVERS[server.name], name=name, server=server)


def file_of(file: Path) -> Place:
    """A file of SQLite that is not there yet."""
    return Place(url=f"sqlite:///{file}", database=Database.SQLITE, name=str(file), server=None)


class Dashboard:
    """Runs the same query again and again, in one session, and keeps every result that is not the one before.

    ``pause_seconds`` are between a result and the next query.
    """

    def __init__(self, place: Place, sql: str, *, pause_seconds: float = 0) -> None:
        self.answers: list[list[tuple[Any, ...]]] = []
        self.begun = self.ended = 0
        self._place, self._sql, self._pause_seconds, self._stop = place, sql, pause_seconds, threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for_next_query(self) -> None:
        """Wait for the result of a query that begins after now."""
        number = self.begun + 1

        def is_answered() -> bool:
            if self._failure:
                raise AssertionError("the dashboard failed") from self._failure
            return self.ended >= number

        wait_until(is_answered, "the dashboard's answer")

    def _poll(self) -> None:
        try:
            with self._place.session() as connection:
                while not self._stop.is_set():
                    self.begun += 1
                    answer = sorted(tuple(row) for row in connection.exec_driver_sql(self._sql))
                    if not self.answers or self.answers[-1] != answer:
                        self.answers.append(answer)
                    self.ended += 1
                    self._stop.wait(self._pause_seconds)
        except Exception as error:
            self._failure = error
            raise


@cache
def _engine(url: str) -> sa.Engine:
    return sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")


def instant(number: int) -> Instant:
    """The instant of a mart's n-th commit."""
    return Instant(f"{START + timedelta(minutes=number):%Y%m%d%H%M%S%f}"[:17])


def state(number: int, mart: str = MART) -> MartState:
    """The mart after its n-th commit, served a second later."""
    at = START + timedelta(minutes=number)
    return MartState(mart=mart, instant=instant(number), clock=at, served_at=at + timedelta(seconds=1))


def rows(number: int) -> list[tuple[int, str, Decimal]]:
    """Its rows then: as many as 40 and the number, and no row like one of another commit."""
    return [(agent, f"agent {agent} é🏠", Decimal(f"{number}.{agent:04d}")) for agent in range(40 + number)]


def keyed(values: Iterable[Sequence[Any]]) -> Iterator[KeyedRow]:
    """The rows with a record key each: their place."""
    return ((f"{place}", row) for place, row in enumerate(values))


def serve(
    store: ServingStore,
    number: int,
    values: Iterable[Sequence[Any]] | None = None,
    *,
    schema: T.StructType = SCHEMA,
    timeline: Iterable[int] = (),
    mart: str = MART,
) -> int | None:
    """Serve all rows of the n-th state of the mart, whose timeline holds these commits; gives how many it wrote."""
    known = {instant(each) for each in timeline}
    values = rows(number) if values is None else values
    written = store.replace(state(number, mart), schema, keyed(values), is_on_timeline=known.__contains__)
    return written.rows if written else None


def seen(place: Place) -> list[tuple[int, str, Decimal]]:
    """Rows of the mart, by agent; SQLite keeps decimals as text."""
    found = place.query(f"SELECT agent_id, agent_name, total FROM {MART} ORDER BY agent_id")
    return [(row[0], row[1], Decimal(row[2])) for row in found]


def recorded(place: Place) -> tuple[str, int]:
    """Instant and number of rows in the record."""
    ((at, count),) = place.query(f"SELECT instant, row_count FROM served_marts WHERE mart = '{MART}'")
    return at, count


def assert_serves(place: Place, number: int) -> None:
    """The store holds the n-th state of the mart, the whole of it and nothing else."""
    assert seen(place) == rows(number)
    assert recorded(place) == (instant(number), len(rows(number)))
