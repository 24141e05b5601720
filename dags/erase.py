r"""### One person taken out of the whole lake, its older states and landing files included

Only a person starts it; the form asks for the key of one agent or one customer.

1. `plan` counts where they are named and changes nothing: landing files, quarantine, tables, marts, savepoints.
2. `approve` shows the plan and waits for a person (*Required Action* on its page, or the REST API), up to a day;
   rejected or unanswered plans are dropped. The run ends here when nothing names them, and with *Dry run* on, which it
   is unless you switch it off.
3. `apply` erases them everywhere, removes every older state of the tables that named them, and looks again in every
   file. Its last message is the path of the proof, which does not say who it was.

- **There is no way back.** Savepoints of tables that name them go too.
- **Erase them at the source first:** what is delivered afterwards is new, and taken in.
- **Readers:** it stops before anything changes when a registered reader is behind; queries of older states fail.
- **Safe to retry:** a killed run is run again; until then `ingest_sales` stops and says so.
- **What Airflow keeps:** the form's values and this run's logs name the key. Remove the run when the case is closed.
- **Downstream:** tables whose instant moved are announced. More in `docs/erasure.md`.
"""

from __future__ import annotations

from airflow.sdk import dag

from lakehouse_provider.assets import load_assets
from lakehouse_provider.forms import dry_run_param, key_param
from lakehouse_provider.kafka import KAFKA_CONN_ID
from lakehouse_provider.schedules import START_DATE, WRITER_ARGS
from lakehouse_provider.serving import SERVING_CONN_ID
from lakehouse_provider.tasks import approved_tasks

ASSETS = load_assets()
WHO = {each.role: f"{{{{ params['{each.role}'] or '' }}}}" for each in ASSETS.spec.people}


@dag(
    schedule=None,
    start_date=START_DATE,
    catchup=False,
    max_active_runs=1,
    default_args=WRITER_ARGS,
    doc_md=__doc__,
    tags=["lakehouse", "services"],
    params={
        **{
            each.role: key_param(ASSETS.spec.columns_by_name[each.key], title=each.role.capitalize())
            for each in ASSETS.spec.people
        },
        "dry_run": dry_run_param(),
    },
)
def erase() -> None:
    approved_tasks(
        "erase",
        WHO,
        counter="findings",
        subject="Erase this person from the whole lake? There is no way back.",
        outlets=ASSETS.all,
        serving_conn_id=SERVING_CONN_ID,
        kafka_conn_id=KAFKA_CONN_ID,
    )


erase()
