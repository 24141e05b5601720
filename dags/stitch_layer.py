"""### Contracts of every agent over the last year, current within the micro-batch

Starts as soon as `split_sales` has merged the log into the tables, and keeps `stitch_agent_contracts` current: contract
total and number of contracts per agent, over a year of days of signing. History comes from a cache
(`stitch_agent_days`, per agent and day, built up to the *cut*); what was committed after the cut is added. Amounts that
were corrected, sales that moved to another agent or day or were deleted, and days that are now more than a year ago are
all taken out of the total. Then `serve` copies it to the serving store, as in `fast_layer`.

- **The cut** may move at any time without changing the result. The run at midnight moves it, together with the window;
  *Move the cut* in the form does it now.
- **Safe to retry:** the result is computed from the cache and the timeline; the same result again makes no commit.
- **A cache that cannot be trusted** (its cut is no longer on the timeline, a checksum is off, its declaration changed)
  is rebuilt; the task's log says so and why.
- **Quality:** `quality` checks the expectations of the new rows, at most every half hour (`docs/quality.md`).
- **Backfill:** `airflow backfill create --dag-id stitch_layer --from-date … --to-date …` gives one run per date, which
  computes the cached cells of that day of signing again; a cache that is wrong there is rebuilt. The form's two dates
  do that in one run.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import option_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import DATE_PARAMS, START_DATE, event_date_schedule
from lakehouse_provider.tasks import served_layer
from spark_jobs.job_options.mart import MartOptions

LAYER = "stitch"


def stitch_layer(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("stitch_layer"),
        schedule=event_date_schedule(lake.assets.layer_triggers(LAYER)),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("stitch_layer", minutes=15),
        doc_md=lake.page(__doc__),
        tags=lake.tags(LAYER),
        render_template_as_native_obj=True,
        params={
            **DATE_PARAMS,
            "move_cut": option_param(MartOptions, "move_cut", title="Move the cut"),
        },
    )
    def tasks() -> None:
        served_layer(lake, LAYER, move_cut="{{ params.move_cut or dag_run.run_type == 'scheduled' }}")

    tasks()


for each in each_lake("stitch_layer"):
    stitch_layer(each)
