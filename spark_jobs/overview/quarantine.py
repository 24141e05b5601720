"""What is in the quarantine, by reason, read by Hudi's Rust reader: no Spark, and no values unless they are wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.names import spell
from spark_jobs.contracts.quarantine import State
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.cache import CACHE, LakeCache
from spark_jobs.overview.lake import totals_of
from spark_jobs.storage.layouts import quarantine_layout
from spark_jobs.storage.rust_reader import rust_table
from spark_jobs.storage.s3 import is_s3
from spark_jobs.storage.timeline import Timeline

MOST_BYTES = 64 * 1024 * 1024
"""A larger quarantine is for the job that lists it: the reader would take all of it into memory."""
_MOST_RECORDS, _MOST_CHARACTERS = 50, 400
_COUNTED = ("reason", "state", "ingest_time")


class NotCountedError(TransientError):
    """The quarantine cannot be counted without Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineKind:
    """Records of one reason and state."""

    reason: str
    state: str
    records: int
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRecord:
    """One record: what is wrong with it in words, and its beginning; either may name people."""

    record: str
    reason: str
    detail: str
    raw: str


@dataclass(frozen=True, kw_only=True)
class QuarantineOverview:
    """Counts by reason and state; ``instead`` is why they are not known, with the command that counts, else "".

    ``records`` are the newest open ones, when they were wanted.
    """

    kinds: Sequence[QuarantineKind] = ()
    records: Sequence[QuarantineRecord] = ()
    instead: str = ""


def quarantine_overview(
    spec: LakeSpec, settings: Settings, *, with_records: bool = False, cache: LakeCache = CACHE
) -> QuarantineOverview:
    """Count what the quarantine holds. With records, the newest open ones as they came."""
    timeline = cache.timeline(spec.quarantine, settings.table_path(spec.quarantine))
    timeline.check_readable()
    if timeline.newest is None:
        return QuarantineOverview()
    if not totals_of(cache.files(quarantine_layout(spec), timeline)).files:
        return QuarantineOverview()
    reason = _unfit(spec, timeline, cache)
    if reason:
        return QuarantineOverview(instead=f"{reason}; run: lakehouse quarantine list")
    try:
        rows = _rows(timeline.path, None if with_records else _COUNTED)
    except NotCountedError as error:
        return QuarantineOverview(instead=f"{error}; run: lakehouse quarantine list")
    return QuarantineOverview(kinds=kinds_of_rows(rows), records=_records(rows) if with_records else ())


def open_records(spec: LakeSpec, timeline: Timeline, cache: LakeCache) -> Mapping[str, int]:
    """How many records are open, by reason; nothing where they are not counted here. No value of a record is read.

    Raises:
        NotCountedError: the reader cannot read the table.
    """
    files = totals_of(cache.files(quarantine_layout(spec), timeline)).files
    if not files or _unfit(spec, timeline, cache):
        return {}
    return cache.counts(timeline, lambda: _open_of(timeline))


def _open_of(timeline: Timeline) -> Mapping[str, int]:
    kinds = kinds_of_rows(_rows(timeline.path, _COUNTED))
    return {kind.reason: kind.records for kind in kinds if kind.state == State.OPEN.value}


class OpenRecords:
    """How many records are open as of the quarantine's newest commit, counted again when there is a newer one."""

    def __init__(self) -> None:
        self._newest: Instant | None = None
        self._counts: Mapping[str, int] = {}

    def look(self, timeline: Timeline) -> Mapping[str, int]:
        """By reason; one that had some and has none any more is there with 0. No value of a record is read."""
        if timeline.last is not None and timeline.newest != self._newest:
            self._counts = {**dict.fromkeys(self._counts, 0), **_open_of(timeline)}
            self._newest = timeline.newest
        return self._counts


def kinds_of_rows(rows: Sequence[Mapping[str, Any]]) -> list[QuarantineKind]:
    """Rows of the quarantine counted by reason and state."""
    times = defaultdict[tuple[str, str], list[datetime | None]](list)
    for row in rows:
        times[str(row["reason"]), _state(row)].append(row["ingest_time"])
    return [
        QuarantineKind(reason=reason, state=state, records=len(found), newest=max(filter(None, found), default=None))
        for (reason, state), found in sorted(times.items())
    ]


def _unfit(spec: LakeSpec, timeline: Timeline, cache: LakeCache) -> str:
    if not (timeline.is_local or is_s3(timeline.path)):
        return "the quarantine of a lake on this storage is not read here"
    if totals_of(cache.files(quarantine_layout(spec), timeline)).bytes > MOST_BYTES:
        return "the quarantine is too large to be counted here"
    if find_spec("hudi") is None:
        return "Hudi's Rust reader is not installed here (pip install hudi)"
    return ""


def _rows(path: str, columns: Sequence[str] | None) -> list[Mapping[str, Any]]:
    """Rows with these columns, or all; older lakes have no states."""
    from hudi import HudiReadOptions

    try:
        table = rust_table(path)
        there = [name for name in table.get_schema().names if columns is None or name in columns]
        return [row for batch in table.read(HudiReadOptions(projection=there)) for row in batch.to_pylist()]
    except Exception as error:  # the reader's own, of many kinds
        raise NotCountedError("Hudi's Rust reader cannot read the quarantine") from error


def _state(row: Mapping[str, Any]) -> str:
    return str(row.get("state") or State.OPEN.value)


def _records(rows: Sequence[Mapping[str, Any]]) -> list[QuarantineRecord]:
    is_open = [row for row in rows if _state(row) == State.OPEN.value]
    newest = sorted(is_open, key=lambda row: (str(row["ingest_time"]), row["record_hash"]), reverse=True)
    return [
        QuarantineRecord(
            record=str(row["record_hash"])[:12],
            reason=str(row["reason"]),
            detail=spell(str(row["detail"] or "")),
            raw=spell(bytes(row["raw"] or b"")[:_MOST_CHARACTERS].decode("utf-8", "backslashreplace")),
        )
        for row in newest[:_MOST_RECORDS]
    ]
