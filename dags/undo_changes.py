r"""### Marts and tables of an applied plan, restored to the rows and the definition that they had before

Only a person starts it; the form takes the id of the plan, which the last message of `apply` in `apply_changes` has
(or `lakehouse savepoint list`).

1. `plan` says which marts and tables get their rows of which time back, and changes nothing.
2. `approve` shows the plan and waits for a person (*Required Action* on its page, or the REST API), up to a day;
   rejected or unanswered plans are dropped. The run ends here with *Dry run* on, which it is unless you switch it off.
3. `apply` commits the old rows once more, one commit a table, with the definition and the checkpoints that they had,
   and deletes the savepoint.

- **Put the files back, too:** until then the marts and tables are blocked again, as they were before `apply`.
- **Later events** are not lost: the next `split` and refresh after that add them by the old definition.
- **Safe to retry:** a run that was killed half-way continues where it stopped; the result is the same.
- **Downstream:** tables that changed are announced, and the serving store follows with the layer's next run.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import dry_run_param, plan_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import START_DATE, within
from lakehouse_provider.tasks import approved_tasks


def undo_changes(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("undo_changes"),
        schedule=None,
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=48)},
        doc_md=lake.page(__doc__),
        tags=lake.tags("recompute"),
        params={"plan": plan_param(), "dry_run": dry_run_param()},
    )
    def tasks() -> None:
        approved_tasks(
            "undo",
            {"plan": "{{ params.plan }}"},
            counter="tables_planned",
            subject="Restore the marts and tables of {{ params.plan }} to what they were before it was applied?",
            outlets=[*lake.assets.tables, *lake.assets.histories, *lake.assets.marts],
        )

    tasks()


for each in each_lake("undo_changes"):
    undo_changes(each)
