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

from lakehouse_provider.alerts import deadline_alert
from lakehouse_provider.assets import load_assets
from lakehouse_provider.forms import choice_param
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import NIGHTLY, START_DATE, WRITER_ARGS, clock_schedule

ASSETS = load_assets()


@dag(
    schedule=clock_schedule(NIGHTLY),
    start_date=START_DATE,
    catchup=False,
    max_active_runs=1,
    default_args=WRITER_ARGS,
    deadline=deadline_alert("data_quality", minutes=240),
    doc_md=__doc__,
    tags=["lakehouse", "quality"],
    params={
        "table": choice_param(
            ASSETS.spec.asked_tables, empty="all of them", title="Table", description="One table alone"
        )
    },
)
def data_quality() -> None:
    LakehouseJobOperator(
        task_id="validate",
        job="validate",
        arguments={"tables": "{{ params.table or '' }}"},
        inlets=ASSETS.all,
        outlets=[ASSETS.quality],
    )


data_quality()
