r"""### The whole lake restored to a savepoint, with all its tables and readers

Only a person starts it; the form takes the name of the savepoint (`lakehouse savepoint list`).

1. `plan` says what would be restored and changes nothing: table by table, how many commits; tables made later are
   removed.
2. `approve` shows the plan and waits for a person (*Required Action* on its page, or the REST API), up to a day;
   rejected or unanswered plans are dropped. The run ends here when nothing would change, and with *Dry run* on, which
   it is unless you switch it off.
3. `apply` restores the tables, marts first and the log last, and sets every registered reader to an instant that its
   tables have.

- **It cannot be undone.** What the landing folder still has is ingested again by the next runs of the other DAGs. To
  undo a recompute alone: `lakehouse undo recompute ID --yes`; to undo a changed definition
  alone: `undo_changes`.
- **Readers:** queries that run meanwhile may fail; run them again. Readers outside the lake that had read more are
  named in the log.
- **Safe to retry:** run a killed run again; jobs that run in between find a lake that they can work on.
- **Downstream:** tables whose instant moved are announced, and the serving store follows with the next runs.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import dry_run_param, savepoint_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import START_DATE, within
from lakehouse_provider.tasks import approved_tasks

WHERE = {"to": "{{ params.savepoint }}"}


def restore(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("restore"),
        schedule=None,
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=48)},
        doc_md=lake.page(__doc__),
        tags=lake.tags("services"),
        params={
            "savepoint": savepoint_param(),
            "dry_run": dry_run_param(),
        },
    )
    def tasks() -> None:
        approved_tasks(
            "restore",
            WHERE,
            counter="commits_planned",
            subject="Take the whole lake back to {{ params.savepoint }}?",
            outlets=lake.assets.all,
        )

    tasks()


for each in each_lake("restore"):
    restore(each)
