"""### The first load of a table, read from its database in parts

Only a person starts it. The connection `lakehouse_source`, or another one whose name begins so, says which database: of
type postgres, mysql, mariadb or mssql, with the database as its schema. The form says which table.

1. Start the connector without a snapshot of its own (`snapshot.mode: no_data`), and wait until it runs.
2. Trigger this DAG. *Server name* is the connector's `topic.prefix`.

What is read becomes events of the log, like changes; every change made after the snapshot began wins over it, whenever
it comes. `ingest_sales` and `split_sales` go on meanwhile.

- **Progress:** the task's log says after each commit how many parts and rows are done and about how long it will take.
- **Safe to retry:** position and parts are in the commits; a run that was killed continues with the parts that are
  left, and one run more than needed changes nothing and is skipped.
- **Downstream:** the event of the log's asset carries the last commit's instant and starts `split_sales`.
- **Quarantine:** rows that the lake cannot hold, with their reasons; the rest goes on.
- More in `docs/snapshot.md`.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.connections.source import SOURCE_CONN_ID
from lakehouse_provider.forms import snapshot_params
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import START_DATE, within

TEXTS = {
    name: f"{{{{ (params.{name} or '') | tojson }}}}"  # so that a table 2026.10 does not become a number
    for name in ("table", "server_name", "partition_column", "decimals")
}


def snapshot(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("snapshot"),
        schedule=None,
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=48)},
        doc_md=lake.page(__doc__),
        tags=lake.tags("ingest"),
        render_template_as_native_obj=True,
        params=snapshot_params(lake.conn_id(SOURCE_CONN_ID)),
    )
    def tasks() -> None:
        LakehouseJobOperator(
            task_id="snapshot",
            job="snapshot",
            arguments={
                **TEXTS,
                "parts": "{{ params.parts }}",
                "again": "{{ params.again }}",
            },
            source_conn_id="{{ params.connection }}",
            outlets=lake.assets.ingested,
        )

    tasks()


for each in each_lake("snapshot"):
    snapshot(each)
