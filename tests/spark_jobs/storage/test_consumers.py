"""What a consumer remembers, and when it is believed.

The table ``units`` has one commit at instant 4 that says its rows are complete up to instant 3 of the log.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contracts.instants import BEGINNING
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, table_checkpoint
from spark_jobs.storage.timeline import Timeline

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
ONE, THREE, FOUR, NINE = (f"{n:017d}" for n in (1, 3, 4, 9))


@pytest.fixture
def units(tmp_path: Path) -> Timeline:
    folder = tmp_path / "units" / ".hoodie"
    folder.mkdir(parents=True)
    (folder / "hoodie.properties").write_text("hoodie.table.version=6")
    (folder / f"{FOUR}.deltacommit").write_text(
        json.dumps({"extraMetadata": {"lakehouse.checkpoint.sales_log": THREE}})
    )
    return Timeline(table="units", path=str(tmp_path / "units"))


def remembered(up_to: str, *, last: str | None, table: str = "units") -> ConsumerState:
    return ConsumerState(checkpoints={"sales_log": up_to}, tables={table: last})


def test_what_is_written_is_read(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    state = ConsumerState(
        checkpoints={"sales_log": THREE}, tables={"units": FOUR, "agents": None}, notes={"clock": "x"}
    )
    assert registry.read("split") == ConsumerState()
    registry.write("split", state, CLOCK)
    assert registry.read("split") == state
    assert [path.name for path in (tmp_path / ".consumers").iterdir()] == ["split.json"]


def test_the_same_state_leaves_the_file_alone(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    registry.write("split", remembered(THREE, last=FOUR), CLOCK)
    before = (tmp_path / ".consumers/split.json").stat()
    registry.write("split", remembered(THREE, last=FOUR), CLOCK)
    assert (tmp_path / ".consumers/split.json").stat() == before


def test_it_remembers_when_it_last_got_further(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    for hour, place in enumerate([1, 1, 3, 4, 5, 6, 7, 8]):
        registry.write("split", remembered(f"{place:017d}", last=FOUR), CLOCK + timedelta(hours=hour))
    assert registry.read("split").moved == tuple(f"2026-01-01T0{hour}:00:00Z" for hour in range(2, 8))
    noted = ConsumerState(checkpoints={"sales_log": f"{8:017d}"}, notes={"clock": "later"})
    registry.write("split", noted, CLOCK + timedelta(hours=9))
    assert registry.read("split").moved[-1] == "2026-01-01T07:00:00Z"
    registry.forget("split")
    registry.forget("split")
    assert registry.all() == {}


def test_all_consumers_are_listed(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    assert registry.all() == {}
    states = {"split": remembered(THREE, last=FOUR), "fast_daily_deals": remembered(NINE, last=None, table="sales")}
    for name, state in states.items():
        registry.write(name, state, CLOCK)
    (tmp_path / ".consumers/split.json.0123.tmp").write_bytes(b"{")  # of a writer that died
    (tmp_path / ".consumers/broken.json").write_bytes(b"{")
    assert registry.all() == {**states, "broken": ConsumerState()}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"checkpoints":5}', b"\xff", b'{"tables":[1]}'])
def test_a_file_that_cannot_be_read_means_that_nothing_is_remembered(tmp_path, content):
    (tmp_path / ".consumers").mkdir()
    (tmp_path / ".consumers/split.json").write_bytes(content)
    registry = ConsumerRegistry(str(tmp_path))
    assert registry.read("split") == ConsumerState()
    registry.write("split", remembered(THREE, last=FOUR), CLOCK)
    assert registry.read("split") == remembered(THREE, last=FOUR)


@pytest.mark.parametrize(
    ("state", "checkpoint"),
    [
        (ConsumerState(), THREE),
        (remembered(NINE, last=FOUR), NINE),
        (remembered(ONE, last=FOUR), ONE),
        (remembered(NINE, last=THREE), THREE),
        (remembered(NINE, last=None), THREE),
        (remembered(NINE, last=FOUR, table="agents"), THREE),
    ],
    ids=[
        "nothing",
        "further",
        "behind, because the source was restored",
        "table changed since",
        "table was absent",
        "other table",
    ],
)
def test_the_file_counts_only_for_the_table_it_was_written_for(units, state, checkpoint):
    assert table_checkpoint(state, units, "sales_log") == checkpoint


def test_a_table_that_was_removed_begins_anew(tmp_path):
    gone = Timeline(table="units", path=str(tmp_path / "nowhere"))
    assert table_checkpoint(remembered(NINE, last=FOUR), gone, "sales_log") == BEGINNING


def test_a_table_nothing_was_ever_said_about_is_complete_while_it_stays_absent(tmp_path):
    absent = Timeline(table="units", path=str(tmp_path / "nowhere"))
    assert table_checkpoint(remembered(NINE, last=None), absent, "sales_log") == NINE
