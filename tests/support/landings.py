"""A landing folder, and runs that plan what is new in it. Records are ``{"n":1}``, ``{"n":2}``, … with their ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from spark_jobs.sources.file_blocks import iter_range
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import list_landing, plan_landing
from spark_jobs.sources.landing_plan import LandingPlan
from spark_jobs.storage.filesystem import Filesystem

ONE, TWO, THREE = (b'{"n":%d}\n' % n for n in (1, 2, 3))
LONG_AGO, NOW = 10**9, 10**18


class Landing:
    """A topic's folder and what earlier runs committed about it."""

    def __init__(self, root: Path) -> None:
        self.root, self.ledger = root, dict[str, LedgerEntry]()

    def put(self, name: str, content: bytes, *, topic: str = "SALES", modified_ns: int = LONG_AGO) -> Path:
        path = self.root / topic / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(modified_ns, modified_ns))
        return path

    def plan(self, *, limit: int = 100, truncated_before_ns: int = 0, **more: Any) -> LandingPlan:
        files = Filesystem(str(self.root))
        entries, messages = list_landing(files, ("*.SALES", "SALES"))
        options = {"max_records": limit, "truncated_before_ns": truncated_before_ns, **more}
        plan = plan_landing(files, entries, self.ledger, **options)
        self.ledger = dict(plan.ledger)
        assert messages == ()
        return plan

    def read(self, **options: int) -> list[bytes]:
        content = []
        for chunk in self.plan(**options).chunks:
            with open(chunk.path, "rb") as file:
                content.append(b"".join(iter_range(file, chunk.start, chunk.end, chunk.member)))
        return content
