r"""### Marts and tables with a changed definition, made by it after a person has seen the difference

A mart whose SQL, grain, mode or reads in the files are not those of its rows is blocked: its layer's task fails and
names it, and its rows stay. So is a table with another key, origin, partition or meaning of null, of which `split`
fails. Only a person starts this DAG; the form takes the marts and tables.

1. `plan` lists what changed and what depends on it, and changes nothing; the plan is kept in the lake, by its id.
2. `preview` computes the marts beside their rows, and the tables from the log, and counts what differs, by column;
   nothing is written. It takes as long as a full refresh; *Preview* in the form switches it off.
3. `approve` shows the plan and the difference, and waits for a person (*Required Action* on its page, or the REST
   API), up to a day; rejected or unanswered plans are dropped. The run ends here when nothing would be computed, and
   with *Dry run* on, which it is unless you switch it off.
4. `apply` makes a savepoint, then makes each table again from the log and computes each mart, in one commit each, and
   refreshes the marts that read these tables. Every reader sees a table as it was before or as it is after.

- **Undo:** `undo_changes`, with the plan's id; the last message of `apply` has it.
- **Only what was approved:** when the files, a mart or a table have changed since the plan was made, `apply`
  fails and changes nothing. Start a new run.
- **What cannot be done** is in the plan, with what to do instead; `apply` does not change it.
- **One writer a table:** `split` waits while a table is rebuilt.
- **Safe to retry:** a run that was killed half-way continues where it stopped; the result is the same.
- **What Airflow keeps:** counts and sums. *Sample keys* in the form adds keys of rows; those may be keys of people.
- **Downstream:** tables that changed are announced. Marts that read them, and the serving store, are refreshed with
  the layer's next run. More in `docs/marts.md` and `docs/tables.md`.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.forms import changes_params
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import START_DATE, within
from lakehouse_provider.tasks import change_tasks


def apply_changes(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("apply_changes"),
        schedule=None,
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=48)},
        doc_md=lake.page(__doc__),
        tags=lake.tags("recompute"),
        params=changes_params(
            [mart.name for mart in lake.spec.marts],
            [table.name for table in lake.spec.tables],
            is_open=bool(lake.spec.patterns),
        ),
    )
    def tasks() -> None:
        change_tasks(
            {
                "marts": "{{ (params.marts or []) | join(',') }}",
                "tables": "{{ (params.tables or []) | join(',') }}",
            },
            skips_preview="{{ '' if params.preview else 'the form switched the preview off' }}",
            samples="{{ params.samples }}",
            subject="Apply the new definition of {{ ((params.marts or []) + (params.tables or [])) | join(', ')"
            " or 'every mart and table that changed' }}?",
            outlets=[*lake.assets.tables, *lake.assets.histories, *lake.assets.marts],
        )

    tasks()


for each in each_lake("apply_changes"):
    apply_changes(each)
