"""An Airflow connection, as far as engines look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Facts:
    conn_type: str
    host: str | None = "127.0.0.1"
    port: int | None = None
    login: str | None = None
    password: str | None = None
    conn_id: str = "lakehouse_spark"
    extra_dejson: dict[str, Any] = field(default_factory=dict)
