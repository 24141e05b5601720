"""Open records of the quarantine by reason, read by Hudi's Rust reader: the only numbers that need data files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.quarantine import State
from spark_jobs.storage.s3 import endpoint_of, is_s3, region_of
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.quarantine import STATE

_REASON = "reason"


class QuarantineCounts:
    """The counts as of the quarantine's newest commit, read again when there is a newer one."""

    def __init__(self) -> None:
        self._newest: Instant | None = None
        self._counts: Mapping[str, int] = {}

    def look(self, timeline: Timeline) -> Mapping[str, int]:
        """How many records are open, by reason; a reason that had some and has none any more is there with 0."""
        if timeline.last is not None and timeline.newest != self._newest:
            found = Counter(_open_reasons(timeline.path))
            self._counts = {**dict.fromkeys(self._counts, 0), **found}
            self._newest = timeline.newest
        return self._counts


def _open_reasons(path: str) -> list[str]:
    """The reason of each open record; no column is read that has values of records."""
    from hudi import HudiReadOptions, HudiTableBuilder

    builder = HudiTableBuilder.from_base_uri(path)
    if is_s3(path):
        builder = builder.with_storage_options(_storage_options(os.environ))
    table = builder.build()
    columns = [name for name in (_REASON, STATE) if name in table.get_schema().names]  # older lakes have no states
    found: list[str] = []
    for batch in table.read(HudiReadOptions(projection=columns)):
        states = batch.column(STATE).to_pylist() if STATE in columns else [None] * batch.num_rows
        reasons = batch.column(_REASON).to_pylist()
        found += [why for why, state in zip(reasons, states, strict=True) if state in (None, State.OPEN.value)]
    return found


def _storage_options(environ: Mapping[str, str]) -> dict[str, str]:
    """What the reader's own client of S3 does not find by itself; keys as boto3 finds them."""
    import boto3

    found: Any = boto3.Session().get_credentials()
    keys = found.get_frozen_credentials() if found else None
    endpoint = endpoint_of(environ)
    options = {
        "aws_access_key_id": keys.access_key if keys else "",
        "aws_secret_access_key": keys.secret_key if keys else "",
        "aws_session_token": keys.token if keys else "",
        "aws_region": region_of(environ),
        "aws_endpoint_url": endpoint,
        "allow_http": "true" if endpoint.startswith("http://") else "",
    }
    return {name: value for name, value in options.items() if value}
