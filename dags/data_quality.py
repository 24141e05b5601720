"""### What is expected of every table, asked of all its rows once a night

The gate asks the rows of each write before they are committed. `validate` asks what is there: the same expectations of
whole tables, and those that need all rows, that keys are unique and references lead somewhere. Great Expectations asks,
in the Spark job; its **Data Docs** are a static site in `<lake>/.quality/docs/` with counts and no values. Then it
judges the last whole day by the weeks before it, where an expectation `usual` asks for that. All results are in
`lake_quality`, with what the gates said of every commit; each layer's own task `quality` adds those of its new rows.

- **`action: stop` that is broken** holds the table: the serving store keeps what it has, and the task fails with the
  expectation's name. `python -m spark_jobs.entrypoint publish list`, and `docs/runbooks/held.md`.
- **`warn` and `quarantine`** are told in the log and in Data Docs. Rows that are there cannot be set aside any more.
- **Safe to retry:** it changes no table. A table that is right again is let go by the next run.
- **Form:** one table alone. What is expected, and how to add to it: `docs/quality.md`.
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
                lake.spec.asked_tables,
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
