"""### Marts over the history of every sale: hard units, agents' success, demanding customers, performance

Once a day, and when a new lake has its first tables, from the event history of every sale, partitioned by month:

- `slow_sale_paths`: the funnel path of every live sale, its distinct statuses in the order of events;
- `slow_unit_difficulty`: units that are hard to sell, ranked;
- `slow_agent_success`: how long each agent's paths are, and how many end in a contract;
- `slow_customer_demand`: customers with many short paths over many units;
- `slow_milestones`, `slow_agent_performance`: what each agent's month counts under the business rules of its version.

A run takes in what was committed since the last one: a correction to data months old rewrites the months it touches and
no others. Then `serve` copies units, agents' success and their performance to the serving store, as in
`fast_layer` (`docs/serving.md`).

- **Safe to retry:** what was read is recorded in the commits; the same rows again make no commit.
- **Today's results now:** trigger the DAG; it need not wait for midnight.
- **Other rules over past months:** `recompute`.
- **Quality:** `quality` checks the expectations of the new rows, at most every half hour (`docs/quality.md`).
- **Backfill:** `airflow backfill create --dag-id slow_layer --from-date … --to-date … --max-active-runs 4` gives one
  run per event date, which computes again what the events of that date touch; they take turns with each other and with
  scheduled runs. The form's two dates do that in one run. The worked chapter is docs/backfill.md.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import DATE_PARAMS, START_DATE, event_date_schedule
from lakehouse_provider.tasks import served_layer

LAYER = "slow"


def slow_layer(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("slow_layer"),
        schedule=event_date_schedule([lake.assets.first_split]),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args=lake.writer_args,
        deadline=lake.deadline("slow_layer", minutes=120),
        doc_md=lake.page(__doc__),
        tags=lake.tags(LAYER),
        params=DATE_PARAMS,
    )
    def tasks() -> None:
        served_layer(lake, LAYER)

    tasks()


for each in each_lake("slow_layer"):
    slow_layer(each)
