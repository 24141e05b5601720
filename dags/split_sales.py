"""### `sales_log` to the tables of its things, as soon as it was committed

Starts when `sales_log` has a new commit, pulls what came after this job's checkpoint and merges it into the tables of
units, buildings, projects, statuses, agents, customers and sales: every column keeps its newest value that is not null,
by the source's own order of events. Deleted sales stay as tombstones. Tables with `from` in the lake spec are merged in
the same run (`docs/tables.md`).

- **Safe to retry:** the checkpoint moves with the commits; the same events merged again change nothing.
- **Nothing changed in a table:** no commit there and no asset event. Nothing new in the log: the run is skipped.
- **A table at the source that fails** stops no other table: the run fails and names it, and the next one catches up.
- **Behind after a failure:** `ingest_sales` starts it again within minutes, without new data; so does midnight.
- **Form:** *databases* and *tables* choose some tables, by patterns such as `order*,customers`.
- **Downstream:** asset `sales/sales_log/split` says up to which instant of the log all tables are, and with the tables
  that changed it starts `fast_layer`. In a new lake the first run also starts `slow_layer`, by the asset
  `sales/sales_log/first_split`.
- **Quality:** `quality` checks the expectations of the new rows, at most every half hour (`docs/quality.md`).
- **Backfill:** `airflow backfill create --dag-id split_sales --from-date … --to-date …` gives one run per event
  date, which reads the events of that date again; the result is the same. The form's two dates do that in one run.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import table_params
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import DATE_PARAMS, START_DATE, event_date_schedule
from lakehouse_provider.tasks import CHECKS_WHAT_IS_DUE, quality_task


def split_sales(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("split"),
        schedule=event_date_schedule([lake.assets[lake.spec.log]]),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("split", minutes=15),
        doc_md=lake.page(__doc__),
        tags=lake.tags("split"),
        params={**DATE_PARAMS, **table_params()},
    )
    def tasks() -> None:
        split = LakehouseJobOperator(
            task_id="split",
            job="split",
            arguments={"databases": "{{ params.databases or '' }}", "tables": "{{ params.tables or '' }}"},
            reads_interval=True,
            inlets=[lake.assets[lake.spec.log]],
            outlets=[*lake.assets.tables, *lake.assets.histories, lake.assets.split, lake.assets.first_split],
            idle_followers=CHECKS_WHAT_IS_DUE,
        )
        split >> quality_task(lake.assets, lake.assets.tables)

    tasks()


for each in each_lake("split"):
    split_sales(each)
