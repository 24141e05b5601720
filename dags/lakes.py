"""### Whether every lake of the folder can be served, as an alert

Only where Airflow serves several lakes (`LAKEHOUSE_LAKES`, `docs/lakes.md`). A lake whose spec is broken has no DAGs,
so none of its own could report it. Every ten minutes `check` reads every spec, without Spark, where tasks run.

- **It fails** when a lake cannot be used, and names file and line, as the import error of `lake_specs` does. The alert
  goes to `lakehouse_alerts`: once, again when something else is broken, once a day, and when no lake is broken any
  more.
- **It also notices** a worker that does not see the folder, or has other settings than the DAG processor.
"""

from __future__ import annotations

from airflow.sdk import dag, task

from lakehouse_provider.alerts import all_clear, deadline_alert, ongoing_alert
from lakehouse_provider.lakes import check_lakes, has_several_lakes
from lakehouse_provider.schedules import START_DATE, TEN_MINUTELY, clock_schedule, within


@dag(
    schedule=clock_schedule(TEN_MINUTELY),
    start_date=START_DATE,
    catchup=False,
    max_active_runs=1,
    deadline=deadline_alert("lakes", minutes=5),
    doc_md=__doc__,
    tags=["lakehouse", "quality"],
)
def lakes() -> None:
    @task(retries=0, **within(hours=1), on_failure_callback=ongoing_alert(), on_success_callback=all_clear())
    def check() -> None:
        check_lakes()

    check()


if has_several_lakes():
    lakes()
