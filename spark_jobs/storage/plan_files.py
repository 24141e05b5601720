"""Plan files: at a local path or a URI that a person names, or kept in the lake below ``<base>/.plans`` by their ids.

Those in the lake are for jobs that run one after the other on different machines, as the tasks of a DAG do.
"""

from __future__ import annotations

import os

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.lake_plan import LakePlan, is_plan_id
from spark_jobs.storage.filesystem import Filesystem

FOLDER = ".plans"


def write_plan(plan: LakePlan, path: str) -> None:
    """Write the file, in place of one that is there."""
    folder, name = os.path.split(path)
    Filesystem(folder or ".").write(name, plan.to_yaml().encode())


def keep_plan(plan: LakePlan, settings: Settings) -> None:
    """Write it into the lake; :func:`read_plan` knows it by its id."""
    Filesystem(settings.base_path).write(_kept(plan.id), plan.to_yaml().encode())


def read_plan(place: str, settings: Settings) -> LakePlan:
    """The plan of a file, or the one that is kept under an id; ContractError when there is none, or it is no plan."""
    if is_plan_id(place):
        content = Filesystem(settings.base_path).read(_kept(place))
        if content is None:
            raise ContractError(f"no {place} is kept in the lake; make a plan with: plan --keep")
        return LakePlan.from_yaml(content, _kept(place))
    folder, name = os.path.split(place)
    try:
        content = Filesystem(folder or ".").read(name) if name else None
    except (OSError, ValueError):  # no name of a file: too long, of a folder, with characters that none can have
        content = None
    if content is None:
        raise ContractError(f"there is no plan file {show(place)}; make one with: plan --output FILE")
    return LakePlan.from_yaml(content, place)


def find_plan_id(place: str, settings: Settings) -> str:
    """The id of the plan, which an id is itself: its file is not needed then."""
    return place if is_plan_id(place) else read_plan(place, settings).id


def _kept(id_: str) -> str:
    return f"{FOLDER}/{id_}.yaml"
