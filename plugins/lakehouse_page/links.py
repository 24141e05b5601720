"""From a commit to the run of a DAG that announced it, and to its asset: by the events that Airflow keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from airflow.models.asset import AssetEvent, AssetModel
from airflow.utils.session import create_session
from sqlalchemy import select

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant, moment_of

_LATEST = timedelta(days=7)
"""So long after a commit its announcement is looked for: a task that was retried announces late."""
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A run of a DAG that announced a commit."""

    dag_id: str
    run_id: str
    asset_id: int


def announcements_of(lake: str, table: str, instants: tuple[Instant, ...]) -> Mapping[Instant, Announcement]:
    """The announcement of each of these commits of a table that has one, the first where there are several."""
    if not instants:
        return {}
    try:
        first, last = moment_of(min(instants)), moment_of(max(instants)) + _LATEST
    except (ContractError, ValueError):
        return {}
    events = (
        select(AssetEvent)
        .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        .where(AssetModel.name == f"{lake}/{table}", AssetEvent.timestamp.between(first, last))
        .order_by(AssetEvent.timestamp.desc())
        .limit(_MOST)
    )
    found: dict[Instant, Announcement] = {}
    with create_session() as session:
        for event in session.scalars(events):
            instant = Instant(str((event.extra or {}).get("instant", "")))
            if instant in instants and event.source_dag_id and event.source_run_id:
                found[instant] = Announcement(
                    dag_id=event.source_dag_id, run_id=event.source_run_id, asset_id=event.asset_id
                )
    return found
