"""Counters of commits, in random histories of two tables, against a plain account of what each look has counted.

Instants are 1, 2, …; a write may end after one that began later. A look lists the tables as the exporter does.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.settings import Settings
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.commit_counts import CommitCounts
from spark_jobs.overview.lake import LakeReading
from spark_jobs.quality.freshness import FreshnessOfLake
from spark_jobs.quality.verdicts import QUALITY_KEY, to_metadata
from spark_jobs.sources.delivery import LEDGER_KEY
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import pack_ledger
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
TABLES = (SPEC.log, "sales")


def reading_of(folder: Path) -> LakeReading:
    lake = Settings(base_path=str(folder))
    timelines = {name: Timeline(table=name, path=lake.table_path(name)) for name in TABLES if (folder / name).exists()}
    return LakeReading(
        spec=SPEC,
        settings=lake,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        cache=LakeCache(),
        layouts=LAYOUTS,
        timelines=timelines,
        files={},
        consumers={},
        held={},
        problems={},
        freshness=FreshnessOfLake(spec=SPEC, settings=lake, waiting_since=None),
    )


def counted(counts: CommitCounts, folder: Path) -> dict[tuple[str, ...], float]:
    return {(each.metric.name, *each.labels): each.value for each in counts.look(reading_of(folder)) if each.value}


def content_of(added: int, size: int, *, is_service: bool, quarantined: int = 0) -> dict[str, Any]:
    stats = {"path": "f.parquet", "fileId": "f", "numInserts": added, "totalWriteBytes": size}
    rows = {"read": added + quarantined, "written": added, "quarantined": quarantined}
    return {
        "operationType": "COMPACT" if is_service else "UPSERT",
        "partitionToWriteStats": {"": [stats]},
        "extraMetadata": {} if is_service else {METADATA_PREFIX + QUALITY_KEY: to_metadata(rows, ())},
    }


STEPS = st.lists(
    st.one_of(
        st.just(("look",)),
        st.just(("archive",)),
        st.tuples(st.just("late"), st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("write"), st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("service"), st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)),
    ),
    max_size=14,
)


@given(steps=STEPS)
@settings(max_examples=25)
def test_every_commit_after_the_first_look_is_counted_once(steps: list[tuple[Any, ...]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        made = {name: MadeTable(LAYOUTS[name], folder / name) for name in TABLES}
        counts, expected, uncounted = CommitCounts(), Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        number, has_looked = 100, False
        for kind, *rest in steps:
            if kind == "look":
                expected += uncounted if has_looked else Counter()
                uncounted, has_looked = Counter(), True
                assert counted(counts, folder) == +expected
            elif kind == "archive":
                for name in TABLES:
                    for file in sorted((folder / name / ".hoodie").glob("*commit"))[:1]:
                        if not uncounted:
                            file.unlink()
            else:
                which, added, size = rest
                number += 1
                is_service, name = kind == "service", TABLES[which]
                instant = 200 - number if kind == "late" else number
                content = content_of(added, size, is_service=is_service, quarantined=1)
                made[name].commits(instant, action="commit", **content)
                label = "service" if is_service else "write"
                uncounted[names.COMMITS.name, name, label] += 1
                uncounted[names.BYTES_WRITTEN.name, name, label] += size
                if not is_service:
                    uncounted[names.ROWS.name, name, "added"] += added
                    uncounted[names.ROWS.name, name, "read"] += added + 1
                    uncounted[names.ROWS.name, name, "quarantined"] += 1
    finally:
        shutil.rmtree(folder)


def test_counters_begin_at_zero_so_that_the_first_growth_is_one(tmp_path: Path) -> None:
    MadeTable(LAYOUTS["sales"], tmp_path / "sales").commits(1)
    found = {(each.metric.name, *each.labels): each.value for each in CommitCounts().look(reading_of(tmp_path))}
    assert found[names.COMMITS.name, "sales", "write"] == 0.0
    assert found[names.ROWS.name, "sales", "added"] == 0.0
    assert set(found.values()) == {0.0}


def test_landed_bytes_grow_by_what_files_grew(tmp_path: Path) -> None:
    def commit(number: int, **consumed: int) -> None:
        entries = {
            path: LedgerEntry(size=99, modified_ns=1, consumed=size, digest="") for path, size in consumed.items()
        }
        made.commits(number, extraMetadata={METADATA_PREFIX + LEDGER_KEY: pack_ledger(entries)})

    made = MadeTable(LAYOUTS[SPEC.log], tmp_path / SPEC.log)
    commit(1, a=10, b=5)
    counts = CommitCounts()
    assert counted(counts, tmp_path) == {}
    commit(2, a=14, b=5, c=7)
    assert counted(counts, tmp_path)[names.LANDED.name,] == 11.0
    commit(3, a=2)
    assert counted(counts, tmp_path)[names.LANDED.name,] == 11.0
