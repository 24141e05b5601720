"""Prepares the database of the Airflow this environment names: ``python -m local_stack.servers.airflow_seed JSON``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

CONNECTION = "lakehouse_spark"
CRON_VARIABLE = "lakehouse_ingest_cron"
OURS = "Made by the local stack; change this text to keep your own settings"


def seed(facts: Mapping[str, Any]) -> None:
    """Make the tables, the connection and the variable; what a person changed stays as it is."""
    from airflow.models import Connection, Variable
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session
    from sqlalchemy import select

    initdb()
    with create_session() as session:
        connection = session.scalar(select(Connection).where(Connection.conn_id == CONNECTION))
        if connection is None:
            connection = Connection(conn_id=CONNECTION, conn_type="spark_connect", description=OURS)
            session.add(connection)
        if connection.description == OURS:
            connection.host, connection.port = facts["host"], facts["port"]
        if session.scalar(select(Variable).where(Variable.key == CRON_VARIABLE)) is None:
            session.add(
                Variable(key=CRON_VARIABLE, val=facts["ingest_cron"], description="When ingest_sales runs (cron, UTC)")
            )


if __name__ == "__main__":
    seed(json.loads(sys.argv[1]))
