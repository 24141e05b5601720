"""Which parts each commit of a snapshot reads, without a database: all of them once, in whatever steps and runs.

Runs may be given other options than those before; what was begun is gone on with as it was begun.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.snapshots import Snapshot
from spark_jobs.jobs import snapshot
from spark_jobs.jobs.snapshot import Reading
from spark_jobs.sources.jdbc.database import JdbcDatabase
from spark_jobs.sources.jdbc.parts import cut
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.contexts import context_of

SETTINGS = Settings(jdbc_url="jdbc:postgresql://host/erp", max_events=70)
SPEC = load_lake_spec(SETTINGS.lake_spec)
NO_SPARK: Any = "no session"
BEGUN = Snapshot(source={}, column="SaleId", kind="integer", low=0, high=99, parts=1, done=0, expected=0, read=0)
some = st.none() | st.integers(1, 9)
runs = st.lists(st.fixed_dictionaries({"parts": some, "max_rows": some, "max_parts": some}), min_size=1, max_size=4)


def reading_with(**options: Any) -> Reading:
    given_options = {"table": "public.SALES", "server_name": "erp", "partition_column": "SaleId", **options}
    return Reading(context=context_of("snapshot", SETTINGS, spark=NO_SPARK, spec=SPEC, **given_options))


@settings(max_examples=60)
@given(runs, st.integers(1, 30), st.integers(0, 100))
def test_every_part_is_read_once_in_whatever_steps(given_runs: list[dict[str, Any]], parts: int, rows: int):
    known, read = replace(BEGUN, parts=parts, expected=rows), list[str]()
    wanted = [part.predicate(JdbcDatabase.part_key(), ColumnKind.INTEGER) for part in cut(0, 99, parts)]
    for options in [*given_runs, {}]:
        reading, of_run = reading_with(**options), 0
        while not known.is_finished and of_run < (options.get("max_parts") or parts):
            after, predicates = reading._next_parts(known)
            assert len(predicates) == after.done - known.done > 0
            most_rows = options.get("max_rows") or SETTINGS.max_events
            assert len(predicates) == 1 or len(predicates) * rows <= most_rows * parts, "about as many rows a commit"
            assert replace(after, done=known.done) == known
            of_run += len(predicates)
            reading._parts_read = of_run
            assert of_run <= (options.get("max_parts") or parts)
            read, known = [*read, *predicates], after
    assert known.is_finished
    assert read == wanted


@pytest.mark.parametrize("name", ["parts", "max_rows", "max_parts"])
def test_numbers_begin_with_one(name: str):
    snapshot.check(reading_with(**{name: 1}).context)
    for wrong in (0, -1):
        with pytest.raises(ContractError, match=f"--{name.replace('_', '-')} {wrong} must be at least 1"):
            reading_with(**{name: wrong})
