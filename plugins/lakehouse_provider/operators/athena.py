"""A query in Athena as a task: watched, cancelled with its task, with what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from lakehouse_provider.hooks.athena import ATHENA_CONN_ID, AthenaHook
from spark_jobs.contracts.errors import TerminalError, TransientError

if TYPE_CHECKING:
    from airflow.sdk import Context


class AthenaQueryOperator(BaseOperator):
    """Run one statement and give its id, bytes, cost and first rows.

    What Athena refuses fails the task for good, what may pass is retried. A killed task cancels its query.

    :param sql: the statement (templated). Values go into ``parameters``, not into its text.
    :param parameters: the values of ``?`` in it, in order (templated): text, numbers, dates, times, None.
    :param schema: the database that names without one are looked up in.
    :param most_rows: rows of the answer to hand on to later tasks.
    :param conn_id: see :mod:`lakehouse_provider.hooks.athena`.
    """

    template_fields: Sequence[str] = ("sql", "parameters", "schema")
    template_ext: Sequence[str] = (".sql",)
    template_fields_renderers: ClassVar[dict[str, str]] = {"sql": "sql"}
    ui_color = "#f2e3c9"

    def __init__(
        self,
        *,
        sql: str,
        parameters: Sequence[Any] = (),
        schema: str | None = None,
        most_rows: int = 0,
        conn_id: str = ATHENA_CONN_ID,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sql = sql
        self.parameters = parameters
        self.schema = schema
        self.most_rows = most_rows
        self.conn_id = conn_id
        self._query_id = ""

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the statement; gives its ``query_id``, ``scanned_bytes``, ``usd``, ``is_reused`` and ``rows``."""
        try:
            answer = AthenaHook(self.conn_id).run(
                self.sql, self.parameters, schema=self.schema, most_rows=self.most_rows, on_start=self._remember
            )
        except TransientError as error:
            raise AirflowException(str(error)) from error
        except TerminalError as error:
            raise AirflowFailException(str(error)) from error
        return {
            "query_id": answer.query_id,
            "scanned_bytes": answer.scanned_bytes,
            "usd": str(answer.usd),
            "is_reused": answer.is_reused,
            "rows": [{name: _plain(value) for name, value in row.items()} for row in answer.rows],
        }

    def on_kill(self) -> None:
        """Cancel the query, which would go on and be charged."""
        if self._query_id:
            AthenaHook(self.conn_id).cancel(self._query_id)

    def _remember(self, query_id: str) -> None:
        self._query_id = query_id


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
