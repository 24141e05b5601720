"""Which tables are read without Spark; the rows themselves are compared in tests/spark_jobs/pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.local_tables import NotReadLocallyError, bytes_of, open_locally
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable
from tests.support.seen_lakes import SPEC

LAYOUT = next(each for each in all_layouts(SPEC) if each.name == "units")


def made(folder: Path) -> MadeTable:
    schema = {"type": "record", "name": "units", "fields": [{"name": "unit_id", "type": ["null", "long"]}]}
    table = MadeTable(LAYOUT, folder / "units").commits(1, extraMetadata={"schema": json.dumps(schema)})
    return table.base("f", 1, size=1000)


def refusal(folder: Path, most_bytes: int = 10**6) -> str:
    with pytest.raises(NotReadLocallyError) as refused:
        open_locally(Timeline(table="units", path=str(folder / "units")), most_bytes=most_bytes)
    return str(refused.value)


def test_a_table_without_a_commit_is_sparks(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "units has no commit"


@pytest.mark.parametrize("action", ["deltacommit", "compaction", "replacecommit", "clean", "rollback", "restore"])
def test_anything_that_did_not_end_makes_it_sparks(tmp_path: Path, action: str) -> None:
    made(tmp_path).pending(2, action)
    assert refusal(tmp_path) == "units has an instant that is not completed"


def test_a_large_table_is_sparks(tmp_path: Path) -> None:
    made(tmp_path)
    assert bytes_of(str(tmp_path / "units")) == 1000
    assert refusal(tmp_path, 999) == "units is larger than LAKEHOUSE_LOCAL_QUERY_MB"


def test_a_table_that_the_reader_refuses_is_sparks(tmp_path: Path) -> None:
    made(tmp_path)
    assert refusal(tmp_path) in (
        "units cannot be opened without Spark",
        "units has other columns than its newest commit",
    )
