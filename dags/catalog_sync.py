"""### The lake's tables in the catalog that Athena, Trino and Hive read

Starts as soon as a table was committed, and every half hour for what services changed: new tables, columns and
partitions, and up to which commit each entry is current. The catalog is the one in `LAKEHOUSE_CATALOG`, AWS Glue or a
Hive metastore (`docs/catalogs.md`); without one this DAG has no schedule.

- **Apart from ingestion:** a catalog that does not answer fails this DAG alone. The run is retried, and the next one
  updates every stale entry.
- **Only its own entries:** an entry that is not marked as this lake's is never changed. When it has the name of one of
  the lake's tables, everything else is done, and the task then fails and names it.
- **Views:** afterwards the views that people query, in `<database>_views` and `<database>_masked`, are made in Athena,
  when `LAKEHOUSE_ATHENA_WORKGROUP` is set; else these tasks are skipped, with the reason in their logs. Only views that
  are new or changed are made, also when no table differed. For Trino and Spark: `lakehouse view ddl
  --engine trino`.
- **Nothing differs:** the task is skipped. What differs, without changing it:
  `lakehouse catalog plan`.
- **Form:** one table alone; *all partitions* also compares those of tables without a new commit.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import choice_param, option_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import START_DATE, catalog_schedule
from spark_jobs.job_options.sync import SyncOptions


def catalog_sync(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("catalog_sync"),
        schedule=catalog_schedule(lake.assets.all, lake.settings),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("catalog_sync", minutes=30),
        doc_md=lake.page(__doc__),
        tags=lake.tags("catalog"),
        params={
            "table": choice_param(
                lake.spec.table_names,
                empty="all of them",
                title="Table",
                description="One table alone",
                is_open=bool(lake.spec.patterns),
            ),
            "all": option_param(SyncOptions, "all", title="All partitions"),
        },
        render_template_as_native_obj=True,
    )
    def tasks() -> None:
        LakehouseJobOperator(
            task_id="sync",
            job="sync apply",
            arguments={"table": "{{ params.table or '' }}", "all": "{{ params.all }}"},
            inlets=lake.assets.all,
        ) >> [
            LakehouseJobOperator(
                task_id=task_id,
                job="views apply",
                arguments={"if_configured": True, "masked": is_masked},
                trigger_rule="none_failed",
            )
            for task_id, is_masked in (("views", False), ("masked_views", True))
        ]

    tasks()


for each in each_lake("catalog_sync"):
    catalog_sync(each)
