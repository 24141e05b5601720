"""Which Airflow connection a task of a lake uses: the lake's own one, else the one that all lakes share."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException


def own_conn_id(conn_id: str, lake: str) -> str:
    """The id of the lake's own connection, which goes before the shared one."""
    return f"{conn_id}_{lake}"


def find_connection(conn_id: str, lake: str) -> Any:
    """The lake's own connection, else the shared one; a lake that is alone (``""``) has the shared one.

    Raises:
        AirflowNotFoundException: there is neither.
    """
    if lake:
        with suppress(AirflowNotFoundException):
            return Connection.get(own_conn_id(conn_id, lake))
    return Connection.get(conn_id)
