"""Who is told when something is wrong: the services in the connection ``lakehouse_alerts``.

The connection is of type *Apprise*: chat, mail, pagers, webhooks, each by its URL (docs/alerts.md). Without it nothing
is sent, and the task's log says so.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier, Connection
from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

ALERTS_CONN_ID = "lakehouse_alerts"
MOST_CHARACTERS = 2_000
_REASON = "{{ exception | default('its process ended without a word; its log says how far it came', true) }}"


class LakehouseAlert(BaseNotifier):
    """One message to every service of the connection.

    :param title: one line (templated).
    :param body: what happened and what to do (templated); what is longer than a few screens is cut off.
    """

    template_fields: Sequence[str] = ("title", "body")

    def __init__(self, *, title: str, body: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.title = title
        self.body = body

    def notify(self, context: Context) -> None:
        """Send it; AirflowException when a service did not take it, so that the log does not say it went out."""
        title, body = self.title, self.body[:MOST_CHARACTERS]
        try:
            connection = Connection.get(ALERTS_CONN_ID)
        except AirflowNotFoundException:
            self.log.warning("nobody is told, there is no connection %s: %s: %s", ALERTS_CONN_ID, title, body)
            return
        # Only here: what is on the way of every DAG file is parsed again and again.
        from airflow.providers.apprise.hooks.apprise import AppriseHook
        from apprise import Apprise, NotifyType

        services = Apprise()
        AppriseHook(apprise_conn_id=ALERTS_CONN_ID).set_config_from_conn(conn=connection, apprise_obj=services)
        if not services.notify(title=title, body=body, notify_type=NotifyType.FAILURE, tag="all"):
            raise AirflowException(
                f"a service of the connection {ALERTS_CONN_ID} did not take the alert {title!r}; look at its URL, and "
                f"whether it can be reached from here"
            )
        self.log.info("told the services of the connection %s: %s", ALERTS_CONN_ID, title)


class LateRunAlert(LakehouseAlert):
    """The same of a run that is late; a run of a backfill waits for those before it, and is never late."""

    def notify(self, context: Context) -> None:
        """Send it, unless the run is of a backfill."""
        run: Any = context["dag_run"]
        if run["run_type"] != "backfill":
            super().notify(context)


def failure_alert() -> LakehouseAlert:
    """For ``on_failure_callback``: a task failed for good, and the one line that says why."""
    return LakehouseAlert(
        title="{{ ti.dag_id }}.{{ ti.task_id }} failed",
        body=f"{_REASON}\n\nrun {{{{ run_id }}}}, try {{{{ ti.try_number }}}}",
    )


def deadline_alert(dag_id: str, *, minutes: float) -> DeadlineAlert:
    """For ``deadline``: a run is not at its end so long after it was queued."""
    return DeadlineAlert(
        name=f"{dag_id} within {minutes} minutes",
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(minutes=minutes),
        callback=SyncCallback(
            LateRunAlert,
            kwargs={
                "title": f"{dag_id} is late",
                "body": f"run {{{{ dag_run.dag_run_id }}}} is not at its end {minutes} minutes after it was queued; "
                f"docs/runbooks/late-run.md says what to look at",
            },
        ),
    )
