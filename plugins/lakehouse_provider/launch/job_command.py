"""What is read of an Airflow connection that names an engine, and what is made of it: a command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from spark_jobs.contracts.shipped import CHECKOUT


class ConnectionFacts(Protocol):
    """What is read of an Airflow connection."""

    conn_id: str
    conn_type: str
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    extra_dejson: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCommand:
    """A command line, its whole environment, and what to run when it was killed."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    afterwards: tuple[str, ...] = ()


def python_path(*more: str) -> str:
    """``PYTHONPATH`` of a job's process: the project's folders, and ``more``.

    Installed packages need none, and a folder of them that is named there would hide the standard library's modules.
    """
    own = [str(CHECKOUT), str(CHECKOUT / "plugins")] if CHECKOUT else []
    return ":".join(dict.fromkeys(part for part in (*own, *more) if part))
