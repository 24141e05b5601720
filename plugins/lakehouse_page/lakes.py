"""The lakes that the page shows, with their specs as jobs get them; a spec is read again after half a minute."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from lakehouse_provider.lakes import lake_names, load_lake
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec

_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLake:
    """One lake: ``dag_id`` gives the ids of its DAGs; ``problem`` is why its spec cannot be used, else ""."""

    name: str
    dag_id: Callable[[str], str]
    settings: Settings | None = None
    spec: LakeSpec | None = None
    problem: str = ""


class ShownLakes:
    """Reads specs no more often than needed."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._known: tuple[float, list[ShownLake]] | None = None

    def all(self) -> list[ShownLake]:
        """Every lake of this Airflow. Where their folder cannot be read there is one that says so."""
        with self._lock:
            if self._known is None or self._clock() - self._known[0] > _SECONDS:
                self._known = (self._clock(), _read_all())
            return self._known[1]

    def find(self, name: str) -> ShownLake | None:
        """The lake of this name, or None."""
        return next((lake for lake in self.all() if lake.name == name), None)


def _read_all() -> list[ShownLake]:
    try:
        names = lake_names(os.environ)
    except LakehouseError as error:
        return [ShownLake(name="lakes", dag_id=_dag_id_of(""), problem=str(error))]
    return [_read(name) for name in names]


def _read(name: str) -> ShownLake:
    try:
        lake = load_lake(name, os.environ)
    except LakehouseError as error:
        return ShownLake(name=name or "lake", dag_id=_dag_id_of(name), problem=str(error))
    return ShownLake(name=lake.spec.lake, dag_id=_dag_id_of(name), settings=lake.settings, spec=lake.spec)


def _dag_id_of(name: str) -> Callable[[str], str]:
    from spark_jobs.contracts.dag_ids import dag_id_of

    return lambda kind: dag_id_of(kind, name)
