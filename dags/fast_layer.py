"""### Events of the last day and deals of the day, minutes after they happened

Starts as soon as `split_sales` has merged the log into the tables, and keeps two small tables current:

- `fast_hourly_events`: events per hour of the last 24 hours, per project and status;
- `fast_daily_deals`: deals signed on the day, number and contract total, per project and agent.

A corrected, re-assigned or deleted sale corrects them. The run's own time is the clock that says what "today" and "the
last 24 hours" are, so a retry gives the same rows; the run at midnight moves the windows on even when nothing happened.
Then `serve` copies them to the serving store: the database of the connection `lakehouse_serving`, or a SQLite file
beside the lake without one.

- **Safe to retry:** the rows are computed from the tables as they are; the same rows again make no commit.
- **Serving:** `serve` finds out itself what the store lacks, so after a failure the next run catches up. It runs
  also when a mart failed or is held back (`docs/quality.md`); then `outcome` fails the run.
- **Quality:** `quality` checks the expectations of the new rows, at most every half hour (`docs/quality.md`).
- **Backfill:** `airflow backfill create --dag-id fast_layer --from-date … --to-date …` gives one run per event
  date, which computes again what the events of that date touch. The form's two dates do that in one run.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import DATE_PARAMS, START_DATE, event_date_schedule
from lakehouse_provider.tasks import served_layer

LAYER = "fast"


def fast_layer(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("fast_layer"),
        schedule=event_date_schedule(lake.assets.layer_triggers(LAYER)),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("fast_layer", minutes=15),
        doc_md=lake.page(__doc__),
        tags=lake.tags(LAYER),
        params=DATE_PARAMS,
    )
    def tasks() -> None:
        served_layer(lake, LAYER)

    tasks()


for each in each_lake("fast_layer"):
    fast_layer(each)
