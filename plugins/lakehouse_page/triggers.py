"""What may be started from the page: runs of the DAGs of a lake, by Airflow's own way, rights and checks.

A link leads to a page that says what would be started, and only its form starts it. The form carries a signed text of
the user and of the act: a page of another site cannot have it, so it cannot let a browser send the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.tokens import get_signing_key
from airflow.api_fastapi.core_api.datamodels.dag_run import DAGRunResponse, TriggerDAGRunPostBody
from airflow.api_fastapi.core_api.routes.public.dag_run import trigger_dag_run
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.models import DagModel, Log
from airflow.models.dagbag import DBDagBag
from airflow.utils.session import create_session
from fastapi import HTTPException, Request
from itsdangerous import BadData, URLSafeTimedSerializer

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.kinds import kinds_of
from spark_jobs.overview.models import TableKind

OLDEST_FORM = 3600
"""Seconds after which a form has to be opened again."""
_NOTE = "from the lake page"
_SERVICES = "table_services"
_WRITERS = {
    TableKind.LOG: "ingest",
    TableKind.QUARANTINE: "ingest",
    TableKind.TABLE: "split",
    TableKind.HISTORY: "split",
    TableKind.DELETED: "split",
    TableKind.RESULTS: "data_quality",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A run of a DAG, by its kind and with what is given to it, and what it does in words."""

    kind: str
    does: str
    conf: Mapping[str, Any] = field(default_factory=dict)


def triggers_of(spec: LakeSpec, table: str) -> tuple[Trigger, ...]:
    """What can be started for a table: the DAG that writes it, and the services that are due on it."""
    kind = kinds_of(spec)[table]
    layers = {mart.name: mart.layer for mart in spec.marts}
    writer = f"{layers[table]}_layer" if table in layers else _WRITERS.get(kind, "")
    services = Trigger(kind=_SERVICES, does="carries out the table services that are due on it", conf={"table": table})
    if not writer:
        return (services,)
    return Trigger(kind=writer, does="writes it, with all tables that the same run writes"), services


def check_may_trigger(request: Request, user: GetUserDep, dag_id: str) -> None:
    """HTTPException with 403 unless the user may start runs of the DAG."""
    requires_access_dag("POST", DagAccessEntity.RUN, param_dag_id=dag_id)(request, user)


def may_trigger(request: Request, user: GetUserDep, dag_id: str) -> bool:
    """Whether Airflow has the DAG and the user may start runs of it."""
    try:
        check_may_trigger(request, user, dag_id)
    except HTTPException:
        return False
    return _known_dag(dag_id) is not None


def is_paused(dag_id: str) -> bool:
    """Whether Airflow starts no run of the DAG at the moment; HTTPException with 404 when it has no such DAG."""
    dag = _known_dag(dag_id)
    if dag is None:
        raise HTTPException(404, f"Airflow has no DAG {dag_id}")
    return bool(dag.is_paused)


def sign(user: GetUserDep, act: str) -> str:
    """What the form of an act carries."""
    return str(_signer().dumps([str(user.get_id()), act]))


def check_signed(user: GetUserDep, act: str, signed: str) -> None:
    """HTTPException with 403 unless the form was made here, for this user and act, and not long ago."""
    try:
        made_for = _signer().loads(signed, max_age=OLDEST_FORM)
    except BadData:
        made_for = None
    if made_for != [str(user.get_id()), act]:
        raise HTTPException(403, "the form is not of this page, or older than an hour; open it again")


def start(request: Request, user: GetUserDep, dag_id: str, trigger: Trigger) -> str:
    """Start a run by the route of Airflow's API, with its checks and its line in the audit log; gives the run's id.

    Raises:
        HTTPException: Airflow refuses it, such as a DAG whose file has an error.
    """
    conf = dict(trigger.conf)
    _write_to_audit_log(user, dag_id, conf)
    body = TriggerDAGRunPostBody(logical_date=None, conf=conf, note=_NOTE)
    with create_session() as session:
        run = trigger_dag_run(dag_id, body, DBDagBag(), user, session, request)
        return str(DAGRunResponse.model_validate(run, from_attributes=True).dag_run_id)


def _write_to_audit_log(user: GetUserDep, dag_id: str, conf: Mapping[str, Any]) -> None:
    """What the route's ``action_logging`` writes before it starts anything; that reads a JSON body, a form has none."""
    name = user.get_name()
    extra = json.dumps({"method": "POST", "note": _NOTE, "conf": conf})
    event = trigger_dag_run.__name__
    with create_session() as session:
        session.add(Log(event, owner=name, owner_display_name=name, dag_id=dag_id, extra=extra))


def _known_dag(dag_id: str) -> DagModel | None:
    """As Airflow has it; none of a DAG whose file is gone."""
    with create_session() as session:
        dag: DagModel | None = session.get(DagModel, dag_id)
        return None if dag is None or dag.is_stale else dag


def _signer() -> URLSafeTimedSerializer:
    """With the secret that all API servers of an Airflow share."""
    return URLSafeTimedSerializer(get_signing_key("api", "secret_key"), salt="lakehouse page")
