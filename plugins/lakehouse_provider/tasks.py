"""Tasks that several DAGs have alike: a layer's job, its copy to the serving store, a plan that a person approves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import task
from airflow.sdk.exceptions import AirflowFailException

from lakehouse_provider.assets import table_of
from lakehouse_provider.connections.serving import SERVING_CONN_ID
from lakehouse_provider.operators.approval import PlanApprovalOperator
from lakehouse_provider.operators.job import LakehouseJobOperator
from spark_jobs.contracts.results import TO_CHECK

if TYPE_CHECKING:
    from airflow.sdk import Asset

    from lakehouse_provider.assets import LakeAssets
    from lakehouse_provider.lakes import Lake


QUALITY = "quality"
CHECKS_WHAT_IS_DUE = {QUALITY: TO_CHECK}
"""For a task that :func:`quality_task` follows: it runs when there is something to check, at most every half hour."""


def mart_task(assets: LakeAssets, layer: str, **arguments: Any) -> LakehouseJobOperator:
    """Refresh the marts of a layer; the task is named like the layer."""
    return LakehouseJobOperator(
        task_id=layer,
        job="mart",
        arguments={"layer": layer, **arguments},
        reads_interval=True,
        inlets=assets.layer_sources(layer),
        outlets=assets.layer(layer),
        idle_followers=CHECKS_WHAT_IS_DUE,
    )


def quality_task(assets: LakeAssets, tables: Sequence[Asset], **arguments: Any) -> LakehouseJobOperator:
    """Check the expectations on the rows that came since the last check of these tables, and keep the results."""
    names = ",".join(map(table_of, tables))
    return LakehouseJobOperator(
        task_id=QUALITY,
        job="validate",
        arguments={"tables": names, "increment": True, **arguments},
        inlets=list(tables),
        outlets=[assets.quality],
    )


def served_layer(lake: Lake, layer: str, **arguments: Any) -> None:
    """Refresh the marts of a layer, copy them to the serving store, and check the expectations on their new rows.

    ``serve`` also runs when no mart moved, because the store may lack an earlier state, and when one failed: a mart
    that is held back does not keep the others from readers. The run fails all the same, by its last task.
    """
    assets = lake.assets
    marts = mart_task(assets, layer, **arguments)
    serve = LakehouseJobOperator(
        task_id="serve",
        job="serve",
        arguments={"layer": layer},
        serving_conn_id=lake.conn_id(SERVING_CONN_ID),
        inlets=assets.layer(layer),
        trigger_rule="all_done",
    )
    outcome = _outcome()
    marts >> serve >> outcome
    marts >> outcome
    marts >> quality_task(assets, assets.layer(layer))


@task(task_id="outcome", trigger_rule="one_failed", retries=0, on_failure_callback=None)
def _outcome() -> None:
    raise AirflowFailException("a task of this run failed; its own log says why")


def approved_tasks(
    job: str,
    arguments: Mapping[str, Any],
    *,
    counter: str,
    subject: str,
    outlets: Sequence[Asset],
    runs_by_clock: bool = True,
    serving_conn_id: str | None = None,
    kafka_conn_id: str | None = None,
) -> None:
    """``plan``, ``approve`` and ``apply`` of a job that changes history only after a person saw what it would do.

    Args:
        job: without ``--yes`` it plans, with it it does what it planned.
        arguments: options of both.
        counter: the number in the plan's result that is 0 when nothing would change.
        subject: the question to the person (templated).
        outlets: tables that may have changed afterwards.
        runs_by_clock: False where only a person or a backfill starts the DAG, whatever its schedule.
        serving_conn_id: the connection of the serving store, for a job that changes it.
        kafka_conn_id: the connection of Kafka, for a job that reads there.
    """
    plan = LakehouseJobOperator(
        task_id="plan", job=job, arguments=arguments, runs_by_clock=runs_by_clock, skips_idle=False
    )
    approve = _approval(plan, counter=counter, subject=subject)
    apply = LakehouseJobOperator(
        task_id="apply",
        job=job,
        arguments={**arguments, "yes": True},
        serving_conn_id=serving_conn_id,
        kafka_conn_id=kafka_conn_id,
        outlets=list(outlets),
    )
    plan >> approve >> apply


def change_tasks(
    chosen: Mapping[str, str], *, skips_preview: str, samples: str, subject: str, outlets: Sequence[Asset]
) -> None:
    """``plan``, ``preview``, ``approve`` and ``apply`` of changed definitions; the plan is kept in the lake meanwhile.

    Args:
        chosen: ``marts`` and ``tables``, names with commas; both "" for all that changed (templated, as the others).
        skips_preview: why there is no preview, so that the person decides by the plan alone; "" for one.
        samples: how many keys the preview shows.
        subject: the question to the person.
        outlets: tables that may have changed afterwards.
    """
    plan = LakehouseJobOperator(task_id="plan", job="plan", arguments={**chosen, "keep": True}, skips_idle=False)
    # Not from the run's clock, which is another one when a person clears a failed task.
    of_plan = {"plan": f"{{{{ ti.xcom_pull(task_ids='{plan.task_id}')['findings']['plan'] }}}}"}
    preview = LakehouseJobOperator(
        task_id="preview",
        job="preview",
        arguments={**of_plan, "samples": samples},
        skip_reason=skips_preview,
        skips_idle=False,
    )
    approve = _approval(
        plan, counter="to_apply", subject=subject, preview_task_id=preview.task_id, trigger_rule="none_failed"
    )
    apply = LakehouseJobOperator(task_id="apply", job="apply", arguments=of_plan, outlets=list(outlets))
    plan >> preview >> approve >> apply


def _approval(plan: LakehouseJobOperator, **kwargs: Any) -> PlanApprovalOperator:
    """A person's decision on a plan. It writes nothing and may wait for a day, so it blocks no task that writes."""
    return PlanApprovalOperator(task_id="approve", plan_task_id=plan.task_id, max_active_tis_per_dag=None, **kwargs)
