"""The form that a table's properties name: read, and given another record key without touching anything else."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.forms import TableForm, is_rebuilt_after, key_before, name_record_key
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

LAYOUT = TableLayout(name="sales", record_key="sale_id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
KEY = "hoodie.table.recordkey.fields"
WORDS = st.text(st.characters(categories=("L", "N"), include_characters='_.:{}\\ "'), max_size=12)
OTHERS = st.dictionaries(WORDS.map(lambda word: f"hoodie.{word}".replace(" ", "")), WORDS, max_size=4)


def made(folder: str, lines: list[str]) -> Timeline:
    table = MadeTable(LAYOUT, Path(folder) / "sales")
    (table.folder / ".hoodie/hoodie.properties").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (table.folder / ".hoodie/.hoodie.properties.crc").write_bytes(b"of the lines before")
    table.commits(1)
    return Timeline(table="sales", path=str(table.folder))


@settings(max_examples=15)
@given(
    others=OTHERS, before=st.sampled_from(["sale_id", "row_key", "a,b"]), now=st.sampled_from(["row_key", "unit_id"])
)
def test_another_record_key_is_all_that_changes(others: dict[str, str], before: str, now: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = ["#Properties saved", *(f"{name}={value}" for name, value in others.items()), f"{KEY}={before}"]
        lines += ["hoodie.table.type=MERGE_ON_READ", "hoodie.table.partition.fields="]
        timeline = made(folder, lines)
        form = TableForm.stored(timeline)
        assert form == TableForm(record_key=before, partition="", type=TableType.MERGE_ON_READ)
        assert form is not None
        assert form.changes(TableForm.of(LAYOUT)) == (() if before == "sale_id" else ("key",))
        name_record_key(timeline.path, now)
        text = (Path(timeline.path) / ".hoodie/hoodie.properties").read_text(encoding="utf-8")
        assert sorted(text.splitlines()) == sorted(
            [*(line for line in lines if not line.startswith(KEY)), f"{KEY}={now}"]
        )
        assert not (Path(timeline.path) / ".hoodie/.hoodie.properties.crc").exists(), "it would be that of before"
        assert TableForm.stored(Timeline(table="sales", path=timeline.path)) == TableForm(
            record_key=now, partition="", type=TableType.MERGE_ON_READ
        )


@settings(max_examples=15)
@given(keys=st.lists(st.sampled_from(["", "sale_id", "row_key", "unit_id"]), max_size=5), instant=st.integers(0, 6))
def test_the_key_of_then_is_the_one_before_the_first_change_since(keys: list[str], instant: int) -> None:
    """Commit n took the key ``keys[n - 1]`` out of use, or none."""
    with tempfile.TemporaryDirectory() as folder:
        table = MadeTable(LAYOUT, Path(folder) / "sales")
        for number, key in enumerate(keys, start=1):
            extra = {"lakehouse.record_key_before": key, "lakehouse.rebuilt": "plan"} if key else {}
            table.commits(number, action="commit", extraMetadata=extra)
        timeline = Timeline(table="sales", path=str(table.folder))
        since = [key for number, key in enumerate(keys, start=1) if number > instant and key]
        assert key_before(timeline, at(instant)) == next(iter(since), None)
        assert is_rebuilt_after(timeline, at(instant)) is bool(since)


def test_a_table_whose_properties_name_no_key_has_no_known_form(tmp_path: Path) -> None:
    assert TableForm.stored(made(str(tmp_path), ["hoodie.table.version=6"])) is None
