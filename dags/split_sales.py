"""### `sales_log` to the tables of its things, as soon as it was committed

Starts when `sales_log` has a new commit, pulls what came after this job's checkpoint and merges it into the tables of
units, buildings, projects, statuses, agents, customers and sales: every column keeps its newest value that is not null,
by the source's own order of events. Deleted sales stay as tombstones. Mirrors of tables that the lake spec lists are
brought on in the same run (`docs/mirrors.md`).

- **Safe to retry:** the checkpoint moves with the commits; the same events merged again change nothing.
- **Nothing changed in a table:** no commit there and no asset event. Nothing new in the log: the run is skipped.
- **A mirror that fails** stops no other table: the run fails and names it, and the next one catches up.
- **Form:** *databases* and *tables* bring some mirrors on alone, by patterns such as `order*,customers`.
- **Downstream:** asset `sales/sales_log/split` says up to which instant of the log all tables are, and with the tables
  that changed it starts `fast_layer`.
- **Quality:** `quality` asks the new rows what is expected of them, at most every half hour (`docs/quality.md`).
- **Backfill:** `airflow backfill create --dag-id split_sales --from-date … --to-date …` gives one run per event
  date, which reads the events of that date again; the result is the same. The form's two dates do that in one run.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.alerts import deadline_alert
from lakehouse_provider.assets import load_assets
from lakehouse_provider.forms import mirror_params
from lakehouse_provider.operators.job import LakehouseJobOperator
from lakehouse_provider.schedules import DATE_PARAMS, START_DATE, WRITER_ARGS, event_date_schedule
from lakehouse_provider.tasks import quality_task

ASSETS = load_assets()


@dag(
    schedule=event_date_schedule([ASSETS[ASSETS.spec.log]]),
    start_date=START_DATE,
    catchup=False,
    max_active_runs=1,
    default_args=WRITER_ARGS,
    deadline=deadline_alert("split_sales", minutes=15),
    doc_md=__doc__,
    tags=["lakehouse", "split"],
    params={**DATE_PARAMS, **mirror_params()},
)
def split_sales() -> None:
    split = LakehouseJobOperator(
        task_id="split",
        job="split",
        arguments={"databases": "{{ params.databases or '' }}", "tables": "{{ params.tables or '' }}"},
        reads_interval=True,
        runs_by_clock=False,
        inlets=[ASSETS[ASSETS.spec.log]],
        outlets=[*ASSETS.tables, ASSETS.split],
    )
    split >> quality_task(ASSETS, ASSETS.tables)


split_sales()
