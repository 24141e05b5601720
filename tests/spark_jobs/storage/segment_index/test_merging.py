"""Which folders of a row index are merged, and that no row of theirs is lost; without Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.pipelines.merge.index_service import index_need
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage import segment_index
from spark_jobs.storage.segment_index import DUE_FOLDERS, Layer, SegmentIndex, newest_to_merge
from spark_jobs.storage.segments import Segment
from tests.support.made_tables import at

ROWS: dict[str, list[str]] = {}
"""What was written, by segment."""


class Written(SegmentIndex):
    """Segments of rows that are texts; a merge leaves out what is there twice."""

    def __init__(self, settings: Settings) -> None:
        nothing: Any = None
        merge: Any = set
        super().__init__("sales", {"units": ["unit_id bigint"]}, settings, pack=nothing, merge=merge)

    def write_layer(self, packed_df: Any, *, most: int | None = None) -> Layer:
        rows = sorted(packed_df)
        assert most is None or most >= len(rows)
        path = f"folder{len(ROWS)}/part"
        content = "\n".join(rows).encode()
        self._files.write(path, content)
        ROWS[path] = rows
        segment = Segment(path=path, size=len(content), table=0, rows=len(rows), first=0, last=0)
        return Layer(folder=path.partition("/")[0], segments=(segment,))

    def add(self, rows: Sequence[str], instant: Instant) -> None:
        self.accept(self.write_layer(rows), {"units": instant})


def _read(_spark: Any, _root: str, segments: Sequence[Segment]) -> list[str]:
    return [row for segment in segments for row in ROWS[segment.path]]


def test_folders_are_merged_when_there_are_some_and_keep_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_index, "read_packed", _read)
    nothing: Any = None
    settings, spec = Settings(base_path=str(tmp_path)), load_lake_spec(Settings().lake_spec)
    assert index_need(spec, settings) is None
    Written(settings).add([f"old {number:05}" for number in range(1000)], at(1))
    for number in range(DUE_FOLDERS):
        need = index_need(spec, settings)
        assert need is not None
        assert (need.table, need.service, need.is_due) == ("sales_log", Service.INDEX, False)
        assert Written(settings).merge_folders(nothing) == 0
        Written(settings).add([f"new {number}", "twice"], at(number + 2))
    need = index_need(spec, settings)
    assert need is not None
    assert need.is_due
    assert need.why == f"{DUE_FOLDERS} of {DUE_FOLDERS + 1} folders of the index sales, 0.0 MB, can be merged"
    root = tmp_path / ".row_index" / "sales"
    (root / "folder-of-a-run-that-died").mkdir()
    assert Written(settings).merge_folders(nothing) == DUE_FOLDERS
    manifest = json.loads((root / "manifest.json").read_text())
    assert manifest["instants"] == {"units": at(DUE_FOLDERS + 1)}
    assert sorted(path.name for path in root.glob("folder*")) == sorted(manifest["folders"])
    old, new = manifest["folders"].values()
    assert (old[0]["rows"], ROWS[new[0]["path"]]) == (1000, [*(f"new {n}" for n in range(DUE_FOLDERS)), "twice"])
    assert Written(settings).merge_folders(nothing) == 0
    assert Written(settings).merge_folders(nothing, is_forced=True) == 2
    assert Written(settings).merge_folders(nothing, is_forced=True) == 0, "one folder alone"


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=300))
def test_folders_stay_few_and_are_not_written_again_and_again(sizes: list[int]) -> None:
    folders, written = list[int](), 0
    for size in sizes:
        folders.append(size)
        if (count := newest_to_merge(folders)) >= DUE_FOLDERS:
            written += sum(folders[-count:])
            folders[-count:] = [sum(folders[-count:])]
        assert len(folders) <= DUE_FOLDERS + math.log(sum(folders), 3)
    assert written <= sum(sizes) * (1 + 2 * math.log2(1 + len(sizes)))
    assert sum(folders) == sum(sizes)
