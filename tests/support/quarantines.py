"""Quarantined records in tests: replayed and discarded as a person would, and looked at by what the lake says."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from spark_jobs.contracts.results import JobResult
from spark_jobs.quality.verdicts import QUALITY_KEY
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.lakes import Lake

BECAUSE = {"because": "as the shop reported", "by": "Ann"}


def hash_of(raw: bytes) -> str:
    """The key of a record in the quarantine."""
    return hashlib.sha256(raw).hexdigest()


def act(lake: Lake, action: str, **options: Any) -> JobResult:
    """Run the command, and see that every commit of the log accounts for what it read."""
    decided = BECAUSE if action in ("replay", "discard") else {}
    result = lake.run("quarantine", action=action, **{**decided, **options})
    assert_balanced(lake)
    return result


def repair(lake: Lake, raw: bytes, repaired: bytes) -> JobResult:
    """Replay one record with other bytes."""
    file = lake.folder / "repaired.json"
    file.write_bytes(repaired + b"\n")
    return act(lake, "replay", record=hash_of(raw)[:12], repaired=str(file))


def kept(lake: Lake) -> dict[bytes, dict[str, Any]]:
    """Rows of the quarantine by the bytes that were delivered, the same by both readers, history as lists."""
    rows = {row["record_hash"]: row for row in lake.rows_by_spark("quarantine")}
    by_rust = {row["record_hash"]: row for row in lake.rows("quarantine")}
    assert rows == by_rust
    return {bytes(row["raw"]): {**row, "history": json.loads(row["history"] or "[]")} for row in rows.values()}


def states(lake: Lake) -> dict[bytes, str]:
    """The state of every record."""
    return {raw: row["state"] or "open" for raw, row in kept(lake).items()}


def assert_balanced(lake: Lake) -> None:
    """Of each commit of the log: read = written + quarantined + duplicates, and so many rows were written.

    A decision about a source is a commit without rows, which read nothing.
    """
    timeline = Timeline(table="sales_log", path=lake.path("sales_log"))
    for write in timeline.writes:
        counted = timeline.metadata(write).get(METADATA_PREFIX + QUALITY_KEY)
        if counted is None:
            assert timeline.rows_written(write) == 0
            continue
        rows = json.loads(counted)["rows"]
        assert rows["read"] == rows["written"] + rows["quarantined"] + rows["duplicates"]
        assert rows["written"] == timeline.rows_written(write)
