r"""### Compute history again: a layer or one mart, between two days, also under other business rules

Only a person or a backfill starts it; the form says what to compute.

1. `plan` says what would be rewritten and changes nothing: partitions, rows, bytes, and the tables downstream.
2. `approve` shows the plan and waits for a person (*Required Action* on its page, or the REST API), up to a day;
   rejected or unanswered plans are dropped. The run ends here when nothing would change, and with *Dry run* on, which
   it is unless you switch it off.
3. `apply` makes a savepoint of each table and computes the rows again. Every reader sees a table as it was before or as
   it is after. Rows keep the version of the rules that made them.

- **Undo:** the log and the result of `apply` end with the id for
  `lakehouse undo recompute ID --yes`.
- **Safe to retry:** a run that was killed half-way continues where it stopped; the result is the same.
- **One writer a table:** `apply` waits for the runs of the layer's own DAG, and they for it.
- **Downstream:** tables that changed are announced. `serve` copies them to the serving store with the layer's next run.
- **Backfill:** one run a month, for the month of its date; the form's other fields come from the shell. `"approved":
  true` there is the approval of all of them; in a run from the form it has no effect.

      airflow backfill create --dag-id recompute --from-date 2025-01-01 --to-date 2025-12-01 --max-active-runs 4 \
        --dag-run-conf '{"layer": "slow", "rules": "v2", "dry_run": false, "approved": true}'
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.recompute import recompute_params, rules_versions
from lakehouse_provider.schedules import MONTHLY, START_DATE, clock_schedule, recompute_dates, within
from lakehouse_provider.tasks import approved_tasks

WHAT = {
    "layer": "{{ params.layer }}",
    "mart": "{{ params.mart or '' }}",
    "rules": "{{ params.rules or '' }}",
    "from": "{{ dates(dag_run, params)['from'] }}",
    "to": "{{ dates(dag_run, params)['to'] }}",
}


def recompute(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("recompute"),
        schedule=clock_schedule(MONTHLY),
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=48)},
        doc_md=lake.page(__doc__),
        tags=lake.tags("recompute"),
        params=recompute_params(lake.spec, rules_versions(lake.settings)),
        user_defined_macros={"dates": recompute_dates},
    )
    def tasks() -> None:
        approved_tasks(
            "recompute",
            WHAT,
            counter="rows_planned",
            subject="Rewrite {{ params.mart or 'the ' ~ params.layer ~ ' layer' }} "
            "from {{ dates(dag_run, params)['from'] }} to {{ dates(dag_run, params)['to'] }}?",
            outlets=lake.assets.marts,
            runs_by_clock=False,
        )

    tasks()


for each in each_lake("recompute"):
    recompute(each)
