r"""### End-of-day states: a savepoint of the whole lake at midnight, and the oldest one deleted

`keep` makes one savepoint of all tables that belong together, named `day-<time>`: no copy is made; the files of that
state are only kept from being cleaned.

- **To read one:** `lakehouse query --as-of day-20260131T000000 "…"`, which shows every
  table as it was then.
- **To go back to one:** the DAG `restore`.
- **What it costs:** the file versions that were replaced since the oldest kept state. *Keep* in the form says how many
  days; older states can be computed from the event log.
- **Safe to retry:** a run records first which states it keeps; after a kill, the next one continues with them.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import option_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import DAILY, START_DATE, clock_schedule
from spark_jobs.job_options.savepoint import SavepointOptions

DAYS = option_param(SavepointOptions, "keep", description="Days whose states stay", default=3, maximum=400)


def savepoints(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("savepoints"),
        schedule=clock_schedule(DAILY),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("savepoints", minutes=30),
        doc_md=lake.page(__doc__),
        tags=lake.tags("services"),
        params={"keep": DAYS},
    )
    def tasks() -> None:
        LakehouseJobOperator(
            task_id="keep", job="savepoint create", arguments={"label": "day", "keep": "{{ params.keep }}"}
        )

    tasks()


for each in each_lake("savepoints"):
    savepoints(each)
