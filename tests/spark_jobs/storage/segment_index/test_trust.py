"""How far an index is trusted: by the instants and columns that its manifest names, table by table; without rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.lake_errors import DamagedIndexError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.segment_index import Layer, SegmentIndex, drop_indexes
from spark_jobs.storage.segments import Segment
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

COLUMNS = {"units": ["unit_id bigint", "unit_name string"], "agents": ["agent_id bigint", "agent_name string"]}


class Recorded(SegmentIndex):
    """Writes folders of one segment of as many bytes as it was given parts, and remembers what it read."""

    def __init__(self, settings: Settings, columns: Mapping[str, Sequence[str]] = COLUMNS) -> None:
        nothing: Any = None
        super().__init__("sales", columns, settings, pack=nothing, merge=nothing)
        self.read: list[tuple[str, Instant | None]] = []
        self.written = 0

    def _read_beyond(self, spark: Any, table: str, timeline: Timeline) -> Any:
        self.read.append((table, self._manifest.instants.get(table)))
        return None

    def _add(self, spark: Any, parts: Sequence[Any]) -> None:
        self._manifest = self._with_layer(self.write_layer(parts))

    def write_layer(self, packed_df: Any, *, most: int | None = None) -> Layer:
        self.written += 1
        name = f"folder{len(list(Path(self._root).glob('folder*')))}"
        self._files.write(f"{name}/part", b"x" * len(packed_df))
        size = len(packed_df)
        return Layer(
            folder=name, segments=(Segment(path=f"{name}/part", size=size, table=0, rows=size, first=0, last=0),)
        )

    def bring(self, **numbers: Sequence[int]) -> list[tuple[str, Instant | None]]:
        """Catch up with tables of these commits; gives of which table what came after which instant was read."""
        self.read = []
        no_spark: Any = None
        base = Path(self._root).parents[1]
        timelines = {table: _table(base, table, of_table) for table, of_table in numbers.items()}
        self.catch_up(no_spark, timelines)
        return self.read


def _table(base: Path, name: str, numbers: Sequence[int]) -> Timeline:
    folder = base / name
    if folder.exists():
        for file in (folder / ".hoodie").glob("0*"):
            file.unlink()
    else:
        MadeTable(TableLayout(name=name, record_key="id", form=StorageForm.KEYED), folder)
    for number in numbers:
        (folder / ".hoodie" / f"{at(number)}.commit").write_text("{}")
    return Timeline(table=name, path=str(folder))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake with an index of units up to 4 and of agents up to 3."""
    settings = Settings(base_path=str(tmp_path))
    assert Recorded(settings).bring(units=[2, 4], agents=[3]) == [("units", None), ("agents", None)]
    return settings


@pytest.mark.parametrize(
    ("units", "agents", "read"),
    [
        ([2, 4], [3], []),
        ([2, 4, 5], [3], [("units", at(4))]),
        ([2, 4], [3, 4, 9], [("agents", at(3))]),
        ([4, 5], [3, 6], [("units", at(4)), ("agents", at(3))]),
        # Restored, and written since: the indexed instant is older than the newest one, and not on the timeline.
        ([2], [3], [("units", None), ("agents", None)]),
        ([2, 5], [3], [("units", None), ("agents", None)]),
        ([2, 3, 5], [3, 4], [("units", None), ("agents", None)]),
        ([2, 4], [2, 4], [("units", None), ("agents", None)]),
        # Rebuilt, or archived further than the index got.
        ([8, 9], [3], [("units", None), ("agents", None)]),
        ([2, 4], [], [("units", None)]),
    ],
    ids=str,
)
def test_an_index_goes_on_from_its_instants_or_is_built_again_as_a_whole(
    settings: Settings, units: list[int], agents: list[int], read: list[tuple[str, Instant | None]]
) -> None:
    index = Recorded(settings)
    assert index.bring(units=units, agents=agents) == read
    root = Path(settings.table_path(".row_index")) / "sales"
    manifest = json.loads((root / "manifest.json").read_text())
    assert manifest["instants"] == {name: at(max(of)) for name, of in (("units", units), ("agents", agents)) if of}
    is_full = bool(read) and read[0][1] is None
    assert list(manifest["folders"]) == (["folder1"] if is_full else ["folder0", "folder1"] if read else ["folder0"])
    assert sorted(path.name for path in root.glob("folder*")) == sorted(manifest["folders"]), "others are gone"
    assert Recorded(settings).bring(units=units, agents=agents) == []


@pytest.mark.parametrize(
    ("columns", "is_known"),
    [
        ({**COLUMNS, "agents": [*COLUMNS["agents"], "agent_mail string"]}, True),
        ({**COLUMNS, "agents": COLUMNS["agents"][:1]}, False),
        ({**COLUMNS, "agents": COLUMNS["agents"][::-1]}, False),
        ({**COLUMNS, "agents": ["agent_id bigint", "agent_name bigint"]}, False),
        ({**COLUMNS, "units": ["unit_id bigint", "agent_name string"]}, False),
    ],
)
def test_slots_of_other_columns_are_not_believed(
    settings: Settings, columns: dict[str, list[str]], is_known: bool
) -> None:
    read = Recorded(settings, columns).bring(units=[2, 4], agents=[3])
    assert read == ([] if is_known else [("units", None), ("agents", None)])


def test_a_manifest_that_names_a_folder_which_is_gone_is_not_believed(settings: Settings) -> None:
    """Removed by hand; or an older manifest is back, of which the folders were merged since."""
    root = Path(settings.table_path(".row_index")) / "sales"
    older = (root / "manifest.json").read_bytes()
    shutil.rmtree(root / "folder0")
    assert Recorded(settings).bring(units=[2, 4, 5], agents=[3]) == [("units", None), ("agents", None)]
    (root / "folder0").rename(root / "folder-x")
    (root / "manifest.json").write_bytes(older)
    assert Recorded(settings).bring(units=[2, 4, 5], agents=[3]) == [("units", None), ("agents", None)]
    assert sorted(path.name for path in root.glob("folder*")) == list(
        json.loads((root / "manifest.json").read_text())["folders"]
    )
    assert Recorded(settings).bring(units=[2, 4, 5], agents=[3]) == []


def test_rows_of_before_a_rebuild_are_not_merged_with_those_after_it(settings: Settings) -> None:
    """All that it knows of the table is of another definition; a column's newest value may be another one by this."""

    class Rebuilt(Recorded):
        def catch_up(self, spark: Any, timelines: Mapping[str, Timeline]) -> None:
            text = json.dumps({"extraMetadata": {"lakehouse.rebuilt": "plan-20260310T120000"}})
            (Path(timelines["units"].path) / ".hoodie" / f"{at(5)}.commit").write_text(text)
            super().catch_up(spark, timelines)

    assert Rebuilt(settings).bring(units=[2, 4, 5, 6], agents=[3]) == [("units", None), ("agents", None)]
    assert Rebuilt(settings).bring(units=[2, 4, 5, 6], agents=[3]) == []


def test_tables_that_are_left_out_keep_their_place_in_it(settings: Settings) -> None:
    """A table that is blocked is left out until it is what its files say; how wide its rows are is not forgotten."""
    agents = Recorded(settings, {"agents": COLUMNS["agents"]})
    assert agents.bring(agents=[3, 5]) == [("agents", at(3))]
    assert agents.widest == 2
    assert Recorded(settings).bring(units=[2, 4, 6], agents=[3, 5]) == [("units", at(4))]


def test_a_table_that_it_did_not_know_is_added_to_the_others(settings: Settings) -> None:
    more = {**COLUMNS, "sales": ["sale_id bigint"]}
    assert Recorded(settings, more).bring(units=[2, 4], agents=[3], sales=[1]) == [("sales", None)]
    assert Recorded(settings, more).bring(units=[2, 4], agents=[3], sales=[1]) == []


@pytest.mark.parametrize(
    ("text", "is_damage"),
    [
        (f"Traceback …\nDamagedIndexError: index {'0a' * 16}/{'1b' * 16} is damaged and the index …", True),
        (f"index {'0a' * 16} is damaged", False),
        ("disk is full", False),
    ],
)
def test_a_damaged_segment_removes_the_index(settings: Settings, text: str, is_damage: bool) -> None:
    index = Recorded(settings)
    with pytest.raises(DamagedIndexError if is_damage else RuntimeError), index.trusted():
        raise RuntimeError(text)
    read = Recorded(settings).bring(units=[2, 4], agents=[3])
    assert read == ([("units", None), ("agents", None)] if is_damage else [])


def test_an_index_of_an_earlier_release_is_built_again(settings: Settings) -> None:
    """Its folders had Parquet files, of which the manifest knew the bytes alone."""
    root = Path(settings.table_path(".row_index")) / "sales"
    manifest = json.loads((root / "manifest.json").read_text())
    (root / "manifest.json").write_text(json.dumps({**manifest, "folders": {"folder0": 2}}))
    assert Recorded(settings).bring(units=[2, 4], agents=[3]) == [("units", None), ("agents", None)]


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_bytes(b"xxx")])
def test_a_segment_that_is_gone_or_of_another_size_is_not_believed(settings: Settings, change: Any) -> None:
    (file,) = (Path(settings.table_path(".row_index")) / "sales" / "folder0").iterdir()
    change(file)
    assert Recorded(settings).bring(units=[2, 4], agents=[3]) == [("units", None), ("agents", None)]


def test_what_was_committed_counts_for_those_tables_alone(settings: Settings) -> None:
    index = Recorded(settings)
    assert index.bring(units=[2, 4], agents=[3]) == []
    index.accept(index.write_layer([1]), {"units": at(5)})
    assert Recorded(settings).bring(units=[2, 4, 5], agents=[3, 6]) == [("agents", at(3))]
    lost = Recorded(settings)
    lost.bring(units=[2, 4, 5], agents=[3, 6])
    lost.write_layer([1])  # of a run whose commits failed
    root = Path(settings.table_path(".row_index")) / "sales"
    before = len(list(root.glob("folder*")))
    assert Recorded(settings).bring(units=[2, 4, 5], agents=[3, 6]) == []
    assert len(list(root.glob("folder*"))) == before - 1


def test_dropped_is_the_index_of_the_lake_alone(settings: Settings) -> None:
    spec, folder = load_lake_spec(Settings().lake_spec), Path(settings.table_path(".row_index"))
    (folder / "other").mkdir()
    for _ in range(2):
        drop_indexes(spec, settings)
        assert [path.name for path in folder.iterdir()] == ["other"]
    assert Recorded(settings).bring(units=[2, 4], agents=[3]) == [("units", None), ("agents", None)]
