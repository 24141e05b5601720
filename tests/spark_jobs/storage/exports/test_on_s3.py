"""Exports to an S3 server, by a session of a process of its own: each is whole, and nothing is left beside it.

Ten rows in three partitions; the lake is on disk and has no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv, parquet

from spark_jobs.contracts.results import DONE
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from tests.support.aws import BUCKET
from tests.support.contexts import CLOCK
from tests.support.own_session import close_own_session, run_in_own_session

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.timeout(900), pytest.mark.slice(name="stores")]

SQL = "SELECT id, concat(id, ',') AS text FROM range(0, {count}, 1, 3) ORDER BY id"


@pytest.fixture
def query(s3: Mapping[str, str], tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], str]]:
    """Runs the job with these options; gives its status."""
    settings = Settings(base_path=str(tmp_path / "lake"), landing_path=str(tmp_path / "landing"), driver_memory="1g")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield lambda options: process.submit(run_in_own_session, settings, "query", CLOCK, options).result()
        process.submit(close_own_session).result()


def test_each_form_is_whole_and_is_replaced(query: Callable[[dict[str, Any]], str], tmp_path: Path) -> None:
    files = Filesystem(f"s3a://{BUCKET}/{tmp_path.name}")
    root = f"s3a://{BUCKET}/{tmp_path.name}"
    for count, overwrite in ((10, False), (7, True)):
        for name in ("a.parquet", "b.csv", "c.csv/"):
            options = {"sql": SQL.format(count=count), "rows": 1, "output": f"{root}/{name}", "overwrite": overwrite}
            assert query(options) == DONE
        expected = [{"id": number, "text": f"{number},"} for number in range(count)]
        found = {entry.path.removeprefix(f"{files.root}/"): entry.path for entry in files.list_files(recursive=True)}
        assert {name for name in found if not name.startswith(("a.parquet/part-", "c.csv/part-"))} == {
            "a.parquet/_SUCCESS",
            "b.csv",
            "c.csv/_SUCCESS",
        }
        for start, read in (
            ("a.parquet/part-", parquet.read_table),
            ("b.csv", csv.read_csv),
            ("c.csv/part-", csv.read_csv),
        ):
            rows: list[dict[str, Any]] = []
            for path in sorted(path for name, path in found.items() if name.startswith(start)):
                with files.open(path) as stream:
                    rows += read(stream).to_pylist()
            assert rows == expected, start
