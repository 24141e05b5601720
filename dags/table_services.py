"""### Rescale, compaction, clustering, clean and archive of the tables that need them, merges of the row index

Every half hour `plan` looks at every table, without Spark: its timeline, its files, and how far its readers are. Each
service that is due becomes one task, named by table and service; when nothing is due, the run ends there as skipped.

- **Due by state:** the size of buckets, log files over a base file, small files in a partition, files that no kept
  state needs, commits on the timeline, folders of the row index; the targets are in the lake spec, below `services`.
- **Beside writers and readers:** planning holds a table's lease for a moment; files are merged while writers write, and
  queries see whole commits. Writers wait only for a rescale. Instants of the data do not change, so nothing downstream
  starts.
- **Consumers:** clean and archive keep what a registered consumer has yet to read, and `plan` warns of one that is far
  behind (`lakehouse consumer list`).
- **Safe to retry:** what a killed run had planned is carried out by the next.
- **Retention:** where loads of the lake spec have `keep_days`, `retain` removes their older partitions, in one
  commit a table; without any it needs no Spark (`docs/loads.md`).
- **Form:** one table or one service alone. `lakehouse service run --all` also does what is not
  due.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import HALF_HOURLY, START_DATE, clock_schedule
from lakehouse_provider.services import due_services, retention_task, services_params

FORM = {"table": "{{ params.table or '' }}", "service": "{{ params.service or '' }}"}


def table_services(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("table_services"),
        schedule=clock_schedule(HALF_HOURLY),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("table_services", minutes=120),
        doc_md=lake.page(__doc__),
        tags=lake.tags("services"),
        params=services_params(lake.spec),
    )
    def tasks() -> None:
        plan = LakehouseJobOperator(task_id="plan", job="services plan", arguments=FORM)
        due = due_services(plan.output)
        LakehouseJobOperator.partial(
            task_id="run",
            job="services run",
            lake=lake.name,
            map_index_template="{{ task.arguments['table'] }}: {{ task.arguments['service'] }}",
        ).expand(arguments=due)
        retention_task(lake.assets)

    tasks()


for each in each_lake("table_services"):
    table_services(each)
