"""### Whether every table is as fresh as it promises

Every ten minutes `check` looks, without Spark, at the timelines, at how far each consumer has come, and at the landing
folder or Kafka's topics. It does not check whether a DAG ran: a paused DAG, one that never starts and one that runs and
does nothing are all noticed by the work that is not done.

- **Behind:** something has reached the lake (a file, a message, a commit of a table that is read) and is not in the
  table after `behind_minutes`.
- **Silent:** the newest event in the table happened more than `event_minutes` ago: the source sends nothing any more.
- The promises are in the lake spec, below `freshness`; a mart may have its own.
- **It fails** when a promise is broken, and sends an alert to the services of the connection `lakehouse_alerts`: once,
  again when something else is late, once a day, and when no table is late any more (`docs/alerts.md`). What to do then:
  `docs/runbooks/freshness.md`.
- The same from a shell, or from a cron where Airflow itself may be down: `lakehouse quality freshness`.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.alerts import all_clear, ongoing_alert
from lakehouse_provider.connections.kafka import KAFKA_CONN_ID
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import START_DATE, TEN_MINUTELY, clock_schedule, within


def freshness(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("freshness"),
        schedule=clock_schedule(TEN_MINUTELY),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=1)},
        deadline=lake.deadline("freshness", minutes=5),
        doc_md=lake.page(__doc__),
        tags=lake.tags("quality"),
    )
    def tasks() -> None:
        LakehouseJobOperator(
            task_id="check",
            job="freshness",
            kafka_conn_id=KAFKA_CONN_ID,
            skips_idle=False,
            on_failure_callback=ongoing_alert(lake.name),
            on_success_callback=all_clear(lake.name),
        )

    tasks()


for each in each_lake("freshness"):
    freshness(each)
