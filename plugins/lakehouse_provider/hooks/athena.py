"""Amazon Athena by an Airflow connection: one query at a time, watched while it runs.

The connection (``lakehouse_athena``, any type): login and password are an access key, or both are left out and
credentials come from where every AWS client takes them. Its extra:

- ``region_name``, ``work_group`` (default ``primary``), ``s3_staging_dir`` (results; default: the workgroup's place),
- ``most_bytes``: a query that scans more is cancelled; ``reuse_minutes``: results of this age are taken again;
- ``usd_per_tb``: what scanning costs (default 5.00, Athena's price in most regions), ``endpoint_url``.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from spark_jobs.contracts.errors import ContractError, SettingsError, TransientError
from spark_jobs.contracts.names import show

if TYPE_CHECKING:
    from pyathena.async_cursor import AsyncDictCursor
    from pyathena.connection import Connection
    from pyathena.model import AthenaQueryExecution

ATHENA_CONN_ID = "lakehouse_athena"
POLL_SECONDS = 1.0
_MB, _TB = 1024**2, 1024**4
_LEAST_MB = 10
"""Charged for any query that scans something (Amazon Athena pricing); more is rounded up to whole megabytes."""
_USD_PER_TB = Decimal("5.00")
_SCHEMA = re.compile("[A-Za-z0-9_]{1,255}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AthenaAnswer:
    """How a query ended. ``usd`` is an estimate by the list price; ``rows`` are the first of the answer."""

    query_id: str
    scanned_bytes: int
    usd: Decimal
    is_reused: bool
    seconds: float
    rows: tuple[Mapping[str, Any], ...] = ()


class AthenaHook(BaseHook):
    """One connection to Athena."""

    def __init__(self, conn_id: str = ATHENA_CONN_ID) -> None:
        super().__init__()
        self.conn_id = conn_id

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The connection's extra."""
        extra: dict[str, Any] = self.get_connection(self.conn_id).extra_dejson
        return extra

    @cached_property
    def client(self) -> Connection[AsyncDictCursor]:
        """PyAthena's connection. SettingsError when it lacks something."""
        from botocore.exceptions import BotoCoreError
        from pyathena import connect
        from pyathena.async_cursor import AsyncDictCursor

        connection = self.get_connection(self.conn_id)
        given = {
            "aws_access_key_id": connection.login or None,
            "aws_secret_access_key": connection.password or None,
            **{name: self.facts.get(name) for name in ("region_name", "endpoint_url", "s3_staging_dir")},
        }
        try:
            return connect(
                work_group=self.facts.get("work_group", "primary"),
                cursor_class=AsyncDictCursor,
                poll_interval=POLL_SECONDS,
                **{name: value for name, value in given.items() if value},
            )
        except (BotoCoreError, AssertionError) as error:
            raise SettingsError(
                f"connection {self.conn_id} is not enough for Athena ({error}); give region_name and s3_staging_dir in "
                f"its extra"
            ) from error

    def run(
        self,
        sql: str,
        parameters: Sequence[Any] = (),
        *,
        schema: str | None = None,
        most_rows: int = 0,
        on_start: Callable[[str], None] = lambda _: None,
    ) -> AthenaAnswer:
        """Run one statement to its end; ``parameters`` are the values of its ``?``, ``on_start`` gets the query's id.

        Raises:
            ContractError: ``schema`` or a parameter is none.
            SettingsError: Athena refuses the query, it fails, or it scans more than ``most_bytes``.
            TransientError: it was cancelled from outside, or Athena does not answer.
        """
        begun = time.monotonic()
        if schema is not None and not _SCHEMA.fullmatch(schema):
            raise ContractError(f"schema {show(schema)} is no database's name (letters, digits, _; at most 255)")
        reuse = self._number("reuse_minutes")
        with self._mapped_errors(), self._cursor(schema) as cursor:
            query_id, answer = cursor.execute(
                sql,
                [to_literal(value) for value in parameters] or None,
                paramstyle="qmark" if parameters else None,
                result_reuse_enable=reuse > 0,
                result_reuse_minutes=reuse,
            )
            on_start(query_id)
            self.log.info("athena: query %s started", query_id)
            self._watch(cursor, query_id)
            result = answer.result()
            rows: tuple[Any, ...] = tuple(result.fetchmany(most_rows)) if most_rows else ()
            ended = cursor.query_execution(query_id).result()
        return self._answer(query_id, ended, rows, time.monotonic() - begun)

    def cancel(self, query_id: str) -> None:
        """Stop a query; what it has scanned until then is charged."""
        with self._mapped_errors(), self._cursor(None) as cursor:
            cursor.cancel(query_id).result()

    def _number(self, name: str) -> int:
        """A whole number of the connection's extra; 0 when it is not there."""
        value = self.facts.get(name) or 0
        if not str(value).isdecimal():
            raise SettingsError(f"connection {self.conn_id}: {name} is {show(value)}; give a whole number")
        return int(value)

    @contextmanager
    def _cursor(self, schema: str | None) -> Iterator[AsyncDictCursor]:
        cursor = self.client.cursor(schema_name=schema) if schema else self.client.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def _watch(self, cursor: AsyncDictCursor, query_id: str) -> None:
        """Wait for the end; a query that scans more than it may is stopped."""
        most = self._number("most_bytes")
        while True:
            state = cursor.query_execution(query_id).result()
            scanned = state.data_scanned_in_bytes or 0
            if most and scanned > most:
                cursor.cancel(query_id).result()
                raise SettingsError(
                    f"athena: query {query_id} scanned {scanned:,} bytes and was stopped; it may scan {most:,} "
                    f"(most_bytes of connection {self.conn_id}): select fewer columns or days, or raise it"
                )
            if state.state == state.STATE_SUCCEEDED:
                return
            if state.state == state.STATE_CANCELLED:
                raise TransientError(f"athena: query {query_id} was cancelled; run again if that was not meant")
            if state.state == state.STATE_FAILED:
                raise SettingsError(
                    f"athena: query {query_id} failed: {state.state_change_reason or 'no reason given'}"
                )
            time.sleep(POLL_SECONDS)

    def _answer(
        self, query_id: str, ended: AthenaQueryExecution, rows: tuple[Mapping[str, Any], ...], seconds: float
    ) -> AthenaAnswer:
        scanned, is_reused = ended.data_scanned_in_bytes or 0, bool(ended.reused_previous_result)
        price = Decimal(str(self.facts.get("usd_per_tb") or _USD_PER_TB))
        usd = Decimal(0) if is_reused else estimate_usd(scanned, price)
        self.log.info("athena: query %s scanned %d bytes, about %s USD, in %.1f s", query_id, scanned, usd, seconds)
        return AthenaAnswer(
            query_id=query_id, scanned_bytes=scanned, usd=usd, is_reused=is_reused, seconds=seconds, rows=rows
        )

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
        from pyathena.error import Error

        try:
            yield
        except (Error, ClientError, BotoCoreError) as error:
            cause = error.__cause__ or error
            if isinstance(cause, BotoCoreError) and not isinstance(cause, NoCredentialsError):
                raise TransientError(f"Athena does not answer ({cause}); run again") from error
            raise SettingsError(
                f"Athena refused the query ({cause}); correct it or connection {self.conn_id}"
            ) from error


def to_literal(value: object) -> str:
    """A value as Athena's execution parameters want it: the text of a SQL literal.

    Raises:
        ContractError: it is of a kind that has no literal.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"DECIMAL '{value:f}'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise ContractError(f"{type(value).__name__} cannot be a parameter of a query; give text, a number or a time")


def estimate_usd(scanned_bytes: int, usd_per_tb: Decimal = _USD_PER_TB) -> Decimal:
    """What Athena charges for scanning, by its list price: whole megabytes, ten at least, nothing for nothing."""
    if not scanned_bytes:
        return Decimal(0)
    charged = max(_LEAST_MB, math.ceil(scanned_bytes / _MB)) * _MB
    return (charged * usd_per_tb / _TB).quantize(Decimal("0.000001"))
