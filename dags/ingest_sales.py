"""### Landing zone or Kafka to `sales_log`, by the clock

Every five minutes (the Airflow variable `lakehouse_ingest_cron` sets another cron) this DAG reads what is new under the
landing path, or in the topics of Kafka where a connection `lakehouse_kafka` names one (`docs/kafka.md`), and appends it
to `sales_log`. Records that cannot be used go to `quarantine` with their bytes, position
and reason; the rest of the batch goes on.

- **Safe to retry:** what was read is recorded in the commit that holds the rows, so a retry, a second run or a
  backfill run takes only what no commit has.
- **Nothing new:** the run is skipped and nothing downstream starts.
- **A backlog:** a run that reached its cap starts the next one at once (asset `sales/sales_log/backlog`).
- **A split that is behind:** when `split_sales` failed for good or was paused, a run announces `sales/sales_log` once
  more: after ten minutes, then after twice as long each time, up to an hour. New data is not needed.
- **Form:** *max_events* caps one run; the rest waits for the next. *accept_loss* names topics that go on although
  Kafka has lost messages that were never read: without it a run fails and names them.
- **Downstream:** the event of asset `sales/sales_log` carries the commit's instant and starts `split_sales`.
- **Quality:** `quality` checks the expectations of the new rows, at most every half hour (`docs/quality.md`).
- **Backfill:** `airflow backfill create --dag-id ingest_sales --from-date … --to-date …` runs the same job once per
  tick of the cron; arrival, not event time, decides what it takes, so one tick is enough.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.connections.kafka import KAFKA_CONN_ID
from lakehouse_provider.forms import option_param, topics_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import START_DATE, backlog_schedule, within
from lakehouse_provider.tasks import CHECKS_WHAT_IS_DUE, quality_task
from spark_jobs.job_options.ingest import IngestOptions


def ingest_sales(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("ingest"),
        schedule=backlog_schedule(lake.name, lake.assets.backlog),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("ingest", minutes=15),
        doc_md=lake.page(__doc__),
        tags=lake.tags("ingest"),
        params={
            "max_events": option_param(IngestOptions, "max_events", title="Most events"),
            "accept_loss": topics_param(),
        },
    )
    def tasks() -> None:
        ingest = LakehouseJobOperator(
            task_id="ingest",
            job="ingest",
            arguments={
                "max_events": "{{ params.max_events or '' }}",
                "accept_loss": "{{ params.accept_loss or '' }}",
            },
            kafka_conn_id=KAFKA_CONN_ID,
            outlets=[*lake.assets.ingested, lake.assets.backlog],
            idle_followers=CHECKS_WHAT_IS_DUE,
            reminds=(lake.assets[lake.spec.log], lake.assets.split),
            **within(hours=2),
        )
        ingest >> quality_task(lake.assets, [lake.assets[lake.spec.log]])

    tasks()


for each in each_lake("ingest"):
    ingest_sales(each)
