"""Each index is merged under the leases of those who use it, and of nobody else; without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.merge import index_service
from spark_jobs.pipelines.merge.index_service import merge_indexes
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)
ROWS, DAYS = set(SPEC.split_tables), {"sales_log.sale_id.days"}


@pytest.mark.parametrize("is_there", [True, False])
def test_a_split_does_not_wait_for_a_mart_nor_a_mart_for_a_split(
    monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    held, seen = set[str](), list[tuple[str, str, set[str]]]()

    @contextmanager
    def hold(tables: Iterable[str], **_: object) -> Iterator[None]:
        assert not held, "one waits for another"
        held.update(tables)
        yield
        held.clear()

    class Index:
        def __init__(self, name: str) -> None:
            self.name, self.is_there = name, is_there
            seen.append(("opened", name, set(held)))

        def merge_folders(self, _: object, *, is_forced: bool) -> int:
            seen.append(("merged", self.name, set(held)))
            return 7 if is_forced else 0

    monkeypatch.setattr(index_service, "hold_tables", hold)
    monkeypatch.setattr(index_service, "build_index", lambda *_: Index("rows"))
    monkeypatch.setattr(index_service, "day_index", lambda column, *_: Index(column))
    context: Any = SimpleNamespace(spec=SPEC, settings=Settings(), job="services", spark=None)
    done = merge_indexes(context, is_forced=True)
    steps = ("opened", "merged") if is_there else ("opened",)
    assert seen == [(step, name, of) for name, of in (("rows", ROWS), ("sale_id", DAYS)) for step in steps]
    assert (done.is_done, done.did) == (
        (True, "merged 14 folders of indexes") if is_there else (False, "no folders of indexes to merge")
    )
    assert not merge_indexes(context, is_forced=False).is_done
