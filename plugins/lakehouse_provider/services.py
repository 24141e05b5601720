"""The form of the DAG ``table_services``, and how a service that is due becomes a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, task

from lakehouse_provider.forms import choice_param
from spark_jobs.contracts.services import Service

if TYPE_CHECKING:
    from spark_jobs.contracts.specs import LakeSpec


def services_params(spec: LakeSpec) -> dict[str, Param]:
    """Which table, and which service."""
    return {
        "table": choice_param(spec.table_names, empty="all of them", title="Table", description="One table alone"),
        "service": choice_param(
            [service.value for service in Service],
            empty="all of them",
            title="Service",
            description="One service alone",
        ),
    }


@task(task_id="due")
def due_services(plan: Any) -> list[dict[str, str]]:
    """Arguments of one task for each service that is due, from the result of ``services plan``."""
    return [{"table": table, "service": service} for table, service in plan["due"]]
