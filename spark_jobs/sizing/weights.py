"""What was measured of events and rows: their bytes in every place, and the processor time they take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.shipped import CHECKOUT, SHIPPED

RESULTS = CHECKOUT / "bench" / "results" if CHECKOUT else SHIPPED / "sizing"
"""What the bench of this project measured last."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWeight:
    """An entity table: rows an event adds, bytes of a row in base files and of one in log files."""

    new_rows: float
    row_bytes: float
    log_row_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Bytes and processor seconds of an event, of a run, of a byte of a service."""

    landing: float
    landing_gzip: float
    log: float
    index: float
    feed: float
    ingest_run: float
    ingest_event: float
    split_run: float
    split_event: float
    compaction_byte: float
    clustering_byte: float
    tables: Mapping[str, TableWeight]


def load_weights(folder: Path = RESULTS) -> Weights:
    """From the results of `bench sizes`; SettingsError when they are not there."""
    found = _read(folder / "sizes.json")
    try:
        return weights_of(found)
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(f"{folder} has results of another form ({error}); run: python -m bench sizes") from error


def weights_of(found: Mapping[str, Any]) -> Weights:
    """Of what `bench sizes` found; KeyError, TypeError or ValueError when it has another form."""
    figures, gb = found["figures"], 1024**3
    return Weights(
        landing=figures["landing, bytes an event"],
        landing_gzip=figures["landing gzip, bytes an event"],
        log=figures["log clustered, bytes an event"],
        index=figures["row index, bytes an event"],
        feed=figures["change feed, bytes an event"],
        ingest_run=figures["ingest, fixed, processor s"],
        ingest_event=figures["ingest, processor s a million events"] / _MILLION,
        split_run=figures["split, fixed, processor s"],
        split_event=figures["split, processor s a million events"] / _MILLION,
        compaction_byte=figures["compaction, processor s a GB"] / gb,
        clustering_byte=figures["clustering, processor s a GB"] / gb,
        tables={
            table["table"]: TableWeight(
                new_rows=table["rows"] / found["events"],
                row_bytes=table["row_bytes"],
                log_row_bytes=table["changed_row_bytes"],
            )
            for table in found["tables"]
        },
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["found"]
    except (OSError, ValueError, KeyError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or "not what the bench writes"
        raise SettingsError(f"{show(str(path))} cannot be read ({why}); run: python -m bench {path.stem}") from error
    return found
