"""How fresh mirrors are, each by its own place in the log, and promises beside their exact bounds.

The log has a commit a minute, each with a newer event; two mirrors have read it to different places. What they have
read is in their own commits, or in the consumers' file when a run changed no row of them. Some have read some files of
the next commit too, which changes nothing: it waits as a whole.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import BEGINNING, Instant, format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.quality.freshness import FreshnessOfLake, TableFreshness
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from tests.support.made_tables import MadeTable

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NAMES = ("orders", "carts")
DOCUMENT = {
    "lake": "shop",
    "source": {"topics": ["shop.*"]},
    "log": "shop_log",
    "quarantine": "shop_quarantine",
    "tables": [
        {"name": name, "from": {"database": "shop", "table": name}, "key": ["id"], "deletes": deletes}
        for name, deletes in zip(NAMES, ("tombstone", "remove"), strict=True)
    ],
}
SPEC = parse_lake_spec(copy.deepcopy(DOCUMENT))


def commit(made: dict[str, MadeTable], folder: Path, table: str, when: datetime, **metadata: str) -> Instant:
    if table not in made:
        layout = next(layout for layout in all_layouts(SPEC) if layout.name == table)
        made[table] = MadeTable(layout, folder / table)
    extra = {f"lakehouse.{name}": value for name, value in metadata.items()}
    instant = format_instant(when)
    made[table].commits(int(instant), action="commit", extraMetadata=extra, operationType="UPSERT")
    return instant


@settings(max_examples=60)
@given(count=st.integers(1, 4), data=st.data())
def test_each_mirror_is_as_fresh_as_what_it_has_read(tmp_path_factory, count, data):
    """``own`` is how far a mirror's newest commit was read, ``noted`` how far it has read since."""
    folder, made = tmp_path_factory.mktemp("lake"), dict[str, MadeTable]()
    places = [
        commit(made, folder, "shop_log", START + n * MINUTE, newest_event_time=format_clock(START - (9 - n) * MINUTE))
        for n in range(count)
    ]
    place, last, notes = dict[str, int](), dict[str, Instant | None](), dict[str, str]()
    for number, name in enumerate(NAMES):
        own = data.draw(st.integers(0, count), label=f"own of {name}")
        noted = data.draw(st.integers(own, count), label=f"noted of {name}")
        last[name] = None
        if own:
            when = START + timedelta(hours=1 + number)
            last[name] = commit(made, folder, name, when, **{"checkpoint.shop_log": places[own - 1]})
        is_begun = noted < count and data.draw(st.booleans(), label=f"next commit begun by {name}")
        if noted or is_begun:
            whole = places[noted - 1] if noted else BEGINNING
            notes[name] = f"{whole}/{places[noted]}/2/0123456789ab" if is_begun else whole
        place[name] = noted
    slowest = {"shop_log": min(notes.values())} if notes else {}
    state = ConsumerState(checkpoints=slowest, tables=last, places=notes)
    ConsumerRegistry(str(folder)).write(SPLIT, state, START)
    lake = FreshnessOfLake(spec=SPEC, settings=Settings(base_path=str(folder)), waiting_since=None)
    for name in NAMES:
        found, read = lake.of(name), place[name]
        assert found.newest_event == (START - (10 - read) * MINUTE if read else None), name
        assert found.waiting_since == (START + read * MINUTE if read < count else None), name


@pytest.mark.parametrize(("seconds", "is_late"), [(-1, False), (0, False), (1, True)])
@pytest.mark.parametrize(("behind", "event"), [(15, 4320), (1, 0), (0, 1), (0, 0)])
def test_a_promise_is_kept_to_its_last_second(seconds: int, is_late: bool, behind: int, event: int):
    found = TableFreshness(
        table="orders",
        promise=FreshnessPromise(behind_minutes=behind, event_minutes=event),
        newest_event=START - timedelta(minutes=event, seconds=seconds),
        waiting_since=START - timedelta(minutes=behind, seconds=seconds),
        is_made=True,
    )
    assert found.is_behind(START) is (is_late and behind > 0)
    assert found.is_silent(START) is (is_late and event > 0)


def test_what_never_waited_and_has_no_event_is_never_late():
    promise = FreshnessPromise(behind_minutes=1, event_minutes=1)
    found = TableFreshness(table="orders", promise=promise, newest_event=None, waiting_since=None, is_made=False)
    assert not found.is_behind(START)
    assert not found.is_silent(START)
