"""The row index: right when it is current, behind, gone, broken or ahead, and not built again without a reason.

Batches of 30 sales events over twelve keys each, with partial records, deletes and late events, go through a lake while
its index is ill-treated. After the last one the tables are what the oracle folds.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.contracts.lake_errors import DamagedIndexError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage import segment_index
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.writer import commit
from tests.support.envelopes import Envelope, line, sqlserver
from tests.support.lakes import Lake, assert_equals_oracle
from tests.support.mart_lakes import make_lake_without_marts

pytestmark = pytest.mark.hudi

BATCHES = 4


def _event(rng: random.Random, position: int) -> Envelope:
    sale = {
        "SaleId": rng.randrange(12),
        "AgentId": rng.choice([1, 2, 3, None]),
        "AgentName": rng.choice(["Ann", "Bob", None]),
        "UnitId": rng.choice([7, 8]),
        "UnitName": rng.choice(["a", "b", None]),
        "ContractSubtotal": rng.choice(["1.5000", "2.2500", None]),
    }
    return sqlserver(rng.choice("cccud"), sale, position)


@dataclass(kw_only=True)
class Runs:
    """A lake fed batch by batch; remembers every line it was given."""

    lake: Lake
    lines: list[bytes] = field(default_factory=list)
    batches: Iterator[list[bytes]]

    def one(self) -> None:
        """Land the next batch, ingest it, split it."""
        new = next(self.batches)
        self.lines += new
        self.lake.land(f"{len(self.lines)}.jsonl", new)
        self.lake.run("ingest")
        self.lake.run("split")

    @property
    def index(self) -> Path:
        return self.lake.folder / "lake" / ".row_index" / "sales"

    @property
    def manifest(self) -> dict[str, dict[str, object]]:
        content: dict[str, dict[str, object]] = json.loads((self.index / "manifest.json").read_text())
        return content

    def folders(self) -> set[str]:
        return {entry.name for entry in self.index.iterdir() if entry.is_dir()}


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> Runs:
    rng = random.Random(5)
    positions = list(range(1, BATCHES * 30 + 1))
    rng.shuffle(positions)  # late events in every batch
    lines = [line(_event(rng, position)) for position in positions]
    batches = (lines[start : start + 30] for start in range(0, len(lines), 30))
    return Runs(lake=make_lake_without_marts(spark, tmp_path), batches=batches)


def test_a_current_index_is_all_a_run_reads(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.one()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a table was read")

    monkeypatch.setattr(segment_index, "read_snapshot", refuse)
    monkeypatch.setattr(segment_index, "read_pull", refuse)
    for _ in range(2):
        runs.one()
    assert_equals_oracle(runs.lake, runs.lines)
    assert len(runs.manifest["folders"]) == 3


def test_many_folders_become_few(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the service, and by a writer when no service runs."""
    for _ in range(BATCHES - 2):
        runs.one()
    assert len(runs.folders()) == BATCHES - 2
    done = runs.lake.run("services", action="run", service="index", all=True)
    assert done.messages == (f"sales_log: index: merged {BATCHES - 2} folders of indexes",)
    assert len(runs.folders()) == 1
    monkeypatch.setattr(segment_index, "MAX_FOLDERS", 1)
    for _ in range(2):
        runs.one()
    assert_equals_oracle(runs.lake, runs.lines)
    assert len(runs.manifest["folders"]) == 2
    assert runs.folders() == set(runs.manifest["folders"]), "folders that were merged are gone"


def _restore_older_copy(runs: Runs) -> None:
    shutil.copytree(runs.index, runs.index.with_name("copy"))
    runs.one()
    shutil.rmtree(runs.index)
    runs.index.with_name("copy").rename(runs.index)


def _remove(runs: Runs) -> None:
    shutil.rmtree(runs.index)


def _break_manifest(runs: Runs) -> None:
    (runs.index / "manifest.json").write_text('{"instants": [')


def _lose_a_segment(runs: Runs) -> None:
    next(runs.index.glob("*/*")).unlink()


def _claim_an_unknown_instant(runs: Runs) -> None:
    manifest = runs.manifest
    manifest["instants"]["sales"] = "29990101000000000"
    (runs.index / "manifest.json").write_text(json.dumps(manifest))


def _claim_other_columns(runs: Runs) -> None:
    manifest = runs.manifest
    manifest["columns"]["units"] = ["unit_id bigint", "building_id bigint"]
    (runs.index / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("ill_treat", "is_rebuilt"),
    [
        # As after a run that died between its commits and the index.
        pytest.param(_restore_older_copy, False, marks=pytest.mark.slice(name="tables")),
        pytest.param(_remove, True, marks=pytest.mark.slice(name="tables")),
        # When it is built again is decided without an engine: segment_index/test_trust.py.
        pytest.param(_break_manifest, True, marks=pytest.mark.slice(name="tables")),
        pytest.param(_lose_a_segment, True, marks=pytest.mark.slice(name="tables")),
        pytest.param(_claim_an_unknown_instant, True, marks=pytest.mark.slice(name="tables")),
        pytest.param(_claim_other_columns, True, marks=pytest.mark.slice(name="tables")),
    ],
)
def test_an_index_that_is_not_current_is_brought_there(
    runs: Runs, ill_treat: Callable[[Runs], None], is_rebuilt: bool
) -> None:
    runs.one()
    first = runs.folders()
    ill_treat(runs)
    runs.one()
    runs.one()
    assert_equals_oracle(runs.lake, runs.lines)
    assert bool(first & runs.folders()) is not is_rebuilt


def test_a_damaged_segment_is_reported_and_the_next_run_builds_the_index_again(runs: Runs) -> None:
    runs.one()
    for file in runs.index.glob("*/*"):
        content = bytearray(file.read_bytes())
        content[10] ^= 1
        file.write_bytes(content)
    with pytest.raises(DamagedIndexError, match=r"index sales/\w+/\w+ is damaged .* run it again"):
        runs.one()
    runs.lake.run("split")
    assert_equals_oracle(runs.lake, runs.lines)


def test_a_table_whose_commit_fails_holds_no_other_back_and_catches_up(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.one()

    def fail_for_sales(rows_df, layout, **options):
        if layout.name == "sales":
            raise RuntimeError("disk is full")
        return commit(rows_df, layout, **options)

    before = runs.lake.instants()
    with monkeypatch.context() as patched:
        patched.setattr("spark_jobs.pipelines.merge.engine.commit", fail_for_sales)
        with pytest.raises(TablesFailedError, match="sales: disk is full"):
            runs.one()
    after = runs.lake.instants()
    assert (after["sales"], after["units"] > before["units"]) == (before["sales"], True)
    runs.lake.run("split")
    assert_equals_oracle(runs.lake, runs.lines)


def test_a_removal_that_is_cut_off_leaves_an_index_that_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def die(*_: object) -> None:
        raise OSError("cut off")

    spec, settings = load_lake_spec(Settings().lake_spec), Settings(base_path=str(tmp_path))
    manifest = tmp_path / segment_index.FOLDER / spec.lake / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(b"{}")
    monkeypatch.setattr(Filesystem, "delete_tree", die)
    with pytest.raises(OSError, match="cut off"):
        segment_index.drop_indexes(spec, settings)
    assert not manifest.exists()
