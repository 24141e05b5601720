"""### The expectations of every table, checked on all its rows once a night

The gate checks the rows of each write before they are committed. `validate` checks the stored tables: the same
expectations on all rows, and those that need all rows, such as unique keys and references to rows that exist. Great
Expectations runs them in the Spark job; its **Data Docs** are a static site in `<lake>/.quality/docs/` with counts and
no values. Then it compares the last whole day with the weeks before it, where there is an expectation `usual`. All
results are in `lake_quality`, together with the gates' results of every commit; the task `quality` of each layer adds
those of its new rows.

- **`action: stop`** holds the table when the expectation fails: the serving store keeps its last state, and the task
  fails with the expectation's name. `lakehouse quality held`, and `docs/runbooks/held.md`.
- **`warn` and `quarantine`** are reported in the log and in Data Docs. Rows that are stored are not quarantined any
  more.
- **Safe to retry:** it changes no table. A table that is right again is released by the next run.
- **Form:** one table alone. What the expectations are, and how to add one: `docs/quality.md`.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import choice_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import NIGHTLY, START_DATE, clock_schedule


def data_quality(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("data_quality"),
        schedule=clock_schedule(NIGHTLY),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("data_quality", minutes=240),
        doc_md=lake.page(__doc__),
        tags=lake.tags("quality"),
        params={
            "table": choice_param(
                lake.spec.validated_tables,
                empty="all of them",
                title="Table",
                description="One table alone",
                is_open=bool(lake.spec.patterns),
            )
        },
    )
    def tasks() -> None:
        LakehouseJobOperator(
            task_id="validate",
            job="validate",
            arguments={"tables": "{{ params.table or '' }}"},
            inlets=lake.assets.all,
            outlets=[lake.assets.quality],
        )

    tasks()


for each in each_lake("data_quality"):
    data_quality(each)
