"""The form of the DAG ``table_services``, how a service that is due becomes a task, and what is too old to stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, task

from lakehouse_provider.forms import choice_param
from lakehouse_provider.operators.job import LakehouseJobOperator
from spark_jobs.lake_spec.services import Service

if TYPE_CHECKING:
    from lakehouse_provider.assets import LakeAssets
    from spark_jobs.lake_spec.specs import LakeSpec


def services_params(spec: LakeSpec) -> dict[str, Param]:
    """Which table, and which service."""
    return {
        "table": choice_param(
            spec.table_names,
            empty="all of them",
            title="Table",
            description="One table alone",
            is_open=bool(spec.patterns),
        ),
        "service": choice_param(
            [service.value for service in Service],
            empty="all of them",
            title="Service",
            description="One service alone",
        ),
    }


def retention_task(assets: LakeAssets) -> LakehouseJobOperator | None:
    """Remove partitions that are older than their load keeps them; None in a lake where none says so."""
    aged = [assets[load.name] for load in assets.spec.loads if load.keep_days]
    if not aged:
        return None
    return LakehouseJobOperator(task_id="retain", job="partitions retain", arguments={"yes": True}, outlets=aged)


@task(task_id="due")
def due_services(plan: Any) -> list[dict[str, str]]:
    """Arguments of one task for each service that is due, from the result of ``services plan``."""
    return [{"table": table, "service": service} for table, service in plan["due"]]
