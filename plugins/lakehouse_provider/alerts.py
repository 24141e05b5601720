"""Who gets alerts: the services in the connection ``lakehouse_alerts``, or in a lake's own one.

The connection is of type *Apprise*: chat, mail, pagers, webhooks, each by its URL (docs/alerts.md). Without it nothing
is sent, and the task's log says so.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier, Connection, Variable
from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowNotFoundException,
    AirflowSecretsBackendAccessDenied,
)

from lakehouse_provider.connections.names import own_conn_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airflow.sdk import Context

ALERTS_CONN_ID = "lakehouse_alerts"
MOST_CHARACTERS = 2_000
_REASON = "{{ exception | default('its process exited without an error message; look at its log', true) }}"
_FAILED = "{{ ti.dag_id }}.{{ ti.task_id }} failed"
_BODY = f"{_REASON}\n\nrun {{{{ run_id }}}}, try {{{{ ti.try_number }}}}"
_DENIED = (
    "the connection %s is not in the environment or a secrets backend, and Airflow gives the alert of a late run no "
    "connection of its own database; if there is one, set it as AIRFLOW_CONN_%s or keep it in a secrets backend "
    "(docs/alerts.md)"
)
REMINDER = timedelta(days=1)
"""An alert that is still true is sent again after this time."""


class LakehouseAlert(BaseNotifier):
    """One message to every service of the connection.

    :param title: one line (templated).
    :param body: what happened and what to do (templated); what is longer than a few screens is cut off.
    :param lake: the lake's name, whose own connection ``lakehouse_alerts_<lake>`` goes before the one of all lakes.
    """

    template_fields: Sequence[str] = ("title", "body")

    def __init__(self, *, title: str, body: str, lake: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.title = title
        self.body = body
        self.lake = lake

    def notify(self, context: Context) -> None:
        """Send it; AirflowException when a service did not take it, so that the log does not say it went out."""
        self.send()

    def send(self, *, is_good: bool = False) -> bool:
        """Send it as good or bad news; False when there is no connection, so that no one got it."""
        title, body = self.title, self.body[:MOST_CHARACTERS]
        if (found := self._connection()) is None:
            self.log.warning("no alert was sent, there is no connection %s: %s: %s", ALERTS_CONN_ID, title, body)
            return False
        conn_id, connection = found
        # Only here: what is on the way of every DAG file is parsed again and again.
        from airflow.providers.apprise.hooks.apprise import AppriseHook
        from apprise import Apprise, NotifyType

        services = Apprise()
        AppriseHook(apprise_conn_id=conn_id).set_config_from_conn(conn=connection, apprise_obj=services)
        kind = NotifyType.SUCCESS if is_good else NotifyType.FAILURE
        if not services.notify(title=title, body=body, notify_type=kind, tag="all"):
            raise AirflowException(
                f"a service of the connection {conn_id} did not take the alert {title!r}; look at its URL, and "
                f"whether it can be reached from here"
            )
        self.log.info("alert sent to the services of the connection %s: %s", conn_id, title)
        return True

    def _connection(self) -> tuple[str, Any] | None:
        """The lake's own connection, else the one of all lakes, with its id; None when there is neither."""
        for conn_id in (*([own_conn_id(ALERTS_CONN_ID, self.lake)] if self.lake else []), ALERTS_CONN_ID):
            try:
                return conn_id, Connection.get(conn_id)
            except AirflowNotFoundException:
                continue
            except AirflowSecretsBackendAccessDenied:
                self.log.warning(_DENIED, conn_id, conn_id.upper())
        return None


class LateRunAlert(LakehouseAlert):
    """The alert of a late run; a run of a backfill waits for those before it and is never late."""

    def notify(self, context: Context) -> None:
        """Send it, unless the run is of a backfill."""
        run: Any = context["dag_run"]
        if run["run_type"] != "backfill":
            super().notify(context)


class OngoingAlert(LakehouseAlert):
    """The alert of a check that keeps failing: sent once, again when its error changes, and otherwise once a day.

    The last alert is kept in an Airflow variable, until :class:`AllClear` deletes it.
    """

    def notify(self, context: Context) -> None:
        """Send it, unless the same was sent less than a day ago."""
        key, now = _variable(context), datetime.now(UTC)
        digest = hashlib.sha256(str(context.get("exception")).encode()).hexdigest()
        last = Variable.get(key, default=None, deserialize_json=True)
        if last and last["said"] == digest and now - datetime.fromisoformat(last["at"]) < REMINDER:
            self.log.info("reported already at %s: %s", last["at"], self.title)
        elif self.send():
            Variable.set(key, {"said": digest, "at": now.isoformat()}, serialize_json=True)


class AllClear(LakehouseAlert):
    """What an :class:`OngoingAlert` of the same task reported is over."""

    def notify(self, context: Context) -> None:
        """Send it, when there was such an alert."""
        key = _variable(context)
        if Variable.get(key, default=None) and self.send(is_good=True):
            Variable.delete(key)


def _variable(context: Context) -> str:
    task: Any = context["ti"]
    return f"lakehouse_told_{task.dag_id}_{task.task_id}"


def ongoing_alert(lake: str = "") -> OngoingAlert:
    """For ``on_failure_callback`` of a task that checks the same thing in every run."""
    return OngoingAlert(title=_FAILED, body=_BODY, lake=lake)


def all_clear(lake: str = "") -> AllClear:
    """For ``on_success_callback`` of the same task."""
    title = "{{ ti.dag_id }}.{{ ti.task_id }} recovered"
    return AllClear(title=title, body="run {{ run_id }} found nothing wrong", lake=lake)


def failure_alert(lake: str = "") -> LakehouseAlert:
    """For ``on_failure_callback``: a task failed for good, and the one line that says why."""
    return LakehouseAlert(title=_FAILED, body=_BODY, lake=lake)


def send_decisions(task: str, lines: Iterable[str], *, lake: str = "") -> None:
    """Send what a person has to decide although the task did its work.

    That a service does not take it undoes no work: it is in the log then, as it is where there is no connection.
    """
    for line in lines:
        alert = LakehouseAlert(title=f"{task}: a decision is needed", body=line, lake=lake)
        try:
            alert.send()
        except AirflowException as error:
            alert.log.error("%s; it says: %s", error, line)


def deadline_alert(dag_id: str, *, minutes: float, lake: str = "") -> DeadlineAlert:
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
                "lake": lake,
            },
        ),
    )
