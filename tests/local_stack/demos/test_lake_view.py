"""What a lake is compared with: the truth of the events that were generated."""

from __future__ import annotations

from typing import Any

import pytest

from local_stack.demos.lake_view import TableView, check_lake, rows_of
from local_stack.demos.truth_check import Truth
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [
        ({}, []),
        ({"not_json": 1}, ["quarantine by reason: {}, not {'not_json': 1}"] * 2),
    ],
)
def test_without_a_broken_record_no_quarantine_is_needed(broken: dict[str, int], wrong: list[str]) -> None:
    names = [SPEC.log, *(table.name for table in SPEC.tables)]
    views = {name: TableView(name=name, spark=[], rust=[], instant=Instant("20260101000000000")) for name in names}
    tables: dict[str, dict[str, Any]] = {table.name: {} for table in SPEC.tables}
    truth = Truth(events=0, broken=broken, tables=tables, deleted=frozenset())
    assert check_lake(views, truth, SPEC) == wrong
    assert rows_of(views, SPEC.quarantine, "spark") == []
