"""Who may see what, by Airflow's login and its auth manager. Without these modules the page is not mounted at all."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import ConnectionDetails
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_asset, requires_access_dag
from fastapi import HTTPException, Request

SAMPLES = "Lakehouse quarantine samples"
"""The name of the custom view that a role is given to see records of the quarantine as they came."""
OF_THE_STORE = "lakehouse_serving"
"""Roles that may not even read connections see no records, whatever custom views they are given: of some auth managers
everyone has them all."""

may_read_assets = requires_access_asset("GET")
"""What every route requires: a session, and a role that may see assets."""


def check_may_view(request: Request, user: GetUserDep, dag_id: str) -> None:
    """HTTPException with 403 unless the user may see the DAG of a lake."""
    requires_access_dag("GET", param_dag_id=dag_id)(request, user)


def may_view(request: Request, user: GetUserDep, dag_id: str) -> bool:
    """The same as an answer."""
    try:
        check_may_view(request, user, dag_id)
    except HTTPException:
        return False
    return True


def may_see_records(user: GetUserDep) -> bool:
    """True for who may see records as they came, with what they say of people."""
    manager = get_auth_manager()
    has_view = manager.is_authorized_custom_view(method="GET", resource_name=SAMPLES, user=user)
    details = ConnectionDetails(conn_id=OF_THE_STORE)
    return bool(has_view and manager.is_authorized_connection(method="GET", details=details, user=user))
