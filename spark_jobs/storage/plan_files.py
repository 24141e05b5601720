"""Plan files: a local path or a URI."""

from __future__ import annotations

import os

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.lake_plan import LakePlan
from spark_jobs.contracts.names import show
from spark_jobs.storage.filesystem import Filesystem


def write_plan(plan: LakePlan, path: str) -> None:
    """Write the file, in place of one that is there."""
    folder, name = os.path.split(path)
    Filesystem(folder or ".").write(name, plan.to_yaml().encode())


def read_plan(path: str) -> LakePlan:
    """Read the file; ContractError when there is none, or it is no plan."""
    folder, name = os.path.split(path)
    try:
        content = Filesystem(folder or ".").read(name) if name else None
    except (OSError, ValueError):  # no name of a file: too long, of a folder, with characters that none can have
        content = None
    if content is None:
        raise ContractError(f"there is no plan file {show(path)}; make one with: plan --output FILE")
    return LakePlan.from_yaml(content, path)
