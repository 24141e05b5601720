"""A person approves a plan before history is rewritten: Airflow's own human-in-the-loop, which shows the plan."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk.exceptions import AirflowSkipException

from lakehouse_provider.plan_pages import plan_page

if TYPE_CHECKING:
    from airflow.sdk import Context

ANSWER_WITHIN = timedelta(days=1)


class PlanApprovalOperator(ApprovalOperator):
    """Show the plan that an earlier task made and wait until a person approves or rejects it.

    A dry run ends here, and so does a plan that would change nothing: the task is skipped with what follows. A backfill
    may be approved when it is requested, with ``"approved": true`` in its ``--dag-run-conf``, so that no one has to
    approve each month of history. In any other run that entry is ignored. Without an answer within a day the plan is
    rejected.

    :param plan_task_id: the task whose result is the plan.
    :param counter: the number in that result that is 0 when nothing would change.
    :param preview_task_id: the task whose result is a preview; the page shows it when that task was not skipped.
    """

    template_fields: Collection[str] = ("subject",)
    ui_color = "#f5ead9"

    def __init__(self, *, plan_task_id: str, counter: str, preview_task_id: str = "", **kwargs: Any) -> None:
        super().__init__(response_timeout=ANSWER_WITHIN, defaults=self.REJECT, **kwargs)
        self.plan_task_id = plan_task_id
        self.counter = counter
        self.preview_task_id = preview_task_id

    def execute(self, context: Context) -> Any:
        """Skip a dry run, let an approved backfill through, else wait for a person without holding a worker."""
        if context["params"].get("dry_run", True):
            raise AirflowSkipException("a dry run ends with its plan")
        pull = context["ti"].xcom_pull
        plan = pull(task_ids=self.plan_task_id) or {}
        if (plan.get("counters") or {}).get(self.counter) == 0:
            raise AirflowSkipException("nothing would change")
        dag_run = context["dag_run"]
        if dag_run.run_type == "backfill" and (dag_run.conf or {}).get("approved") is True:
            self.log.info("approved when the backfill was requested")
            return {"chosen_options": [self.APPROVE], "params_input": {}}
        self.body = plan_page(plan, pull(task_ids=self.preview_task_id) if self.preview_task_id else None)
        return super().execute(context)
