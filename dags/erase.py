r"""### One person removed from the whole lake, its older states and landing files included

Only a person starts it; the form takes the key of one agent or one customer.

1. `plan` counts where they are named and changes nothing: landing files, quarantine, tables, marts, savepoints.
2. `approve` shows the plan and waits for a person (*Required Action* on its page, or the REST API), up to a day;
   rejected or unanswered plans are dropped. The run ends here when nothing names them, and with *Dry run* on, which it
   is unless you switch it off.
3. `apply` erases them everywhere, removes every older state of the tables that named them, and then searches every file
   again. Its last message is the path of the proof, which does not contain the key.

- **It cannot be undone.** Savepoints of tables that name them are deleted too.
- **Erase them at the source first:** what is delivered afterwards is new, and is ingested.
- **Readers:** it stops before anything changes when a registered reader is behind; queries of older states fail.
- **Safe to retry:** run a killed run again; until then `ingest_sales` fails with that message.
- **What Airflow keeps:** the form's values and this run's logs name the key. Remove the run when the case is closed.
- **Downstream:** tables whose instant moved are announced. More in `docs/erasure.md`.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.connections.kafka import KAFKA_CONN_ID
from lakehouse_provider.connections.serving import SERVING_CONN_ID
from lakehouse_provider.forms import dry_run_param, key_param
from lakehouse_provider.lakes import Lake, each_lake
from lakehouse_provider.schedules import START_DATE, within
from lakehouse_provider.tasks import approved_tasks


def erase(lake: Lake) -> None:
    @dag(
        dag_id=lake.dag_id("erase"),
        schedule=None,
        start_date=START_DATE,
        catchup=False,
        max_active_runs=1,
        default_args={**lake.writer_args, **within(hours=48)},
        doc_md=lake.page(__doc__),
        tags=lake.tags("services"),
        params={
            **{
                person.role: key_param(lake.spec.columns_by_name.get(person.key), title=person.role.capitalize())
                for person in lake.spec.people
            },
            "dry_run": dry_run_param(),
        },
    )
    def tasks() -> None:
        approved_tasks(
            "erase",
            {person.role: f"{{{{ params['{person.role}'] or '' }}}}" for person in lake.spec.people},
            counter="findings",
            subject="Erase this person from the whole lake? It cannot be undone.",
            outlets=lake.assets.all,
            serving_conn_id=lake.conn_id(SERVING_CONN_ID),
            kafka_conn_id=KAFKA_CONN_ID,
        )

    tasks()


for each in each_lake("erase"):
    erase(each)
