"""What a commit of the log keeps of what was read, and what the next one carries on: nothing is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.kafka import TopicProgress, unpack_progress
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.origins import SOURCES_KEY
from spark_jobs.lake_spec.schemas import SCHEMAS_KEY
from spark_jobs.lake_spec.undeclared_columns import UNDECLARED_KEY
from spark_jobs.sources import delivery
from spark_jobs.sources.delivery import LEDGER_KEY, PROGRESS_KEY, SNAPSHOTS_KEY, KafkaDelivery
from spark_jobs.sources.discovery import checkpoints, read_ledger, read_snapshots
from spark_jobs.sources.kafka_plan import KafkaPlan
from spark_jobs.sources.landing import pack_ledger
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lake_specs import read_book, read_kept, source_book_of
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable

NOTHING = dict.fromkeys([SCHEMAS_KEY, UNDECLARED_KEY, SOURCES_KEY, LEDGER_KEY, PROGRESS_KEY, SNAPSHOTS_KEY], "")
KEYS = sorted({SCHEMAS_KEY, *(key for name, key in vars(delivery).items() if name.endswith("_KEY"))})
progress = st.builds(
    TopicProgress, topic_id=st.text(max_size=3), next=st.dictionaries(st.integers(0, 3), st.integers(0, 9))
)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from("abcd"), progress), st.sets(st.sampled_from("abcd")))
def test_how_far_topics_were_read_is_kept_of_all_of_them(known: dict[str, TopicProgress], own: set[str]):
    """Also of those that are not the lake's at the moment, because its spec names others."""
    read, others = ({topic: of for topic, of in known.items() if (topic in own) is wanted} for wanted in (True, False))
    taken = KafkaDelivery(
        plan=KafkaPlan(progress=read), topics=len(read), others=others, messages=(), properties={"sasl.password": "x"}
    )
    assert unpack_progress(taken.checkpoint[PROGRESS_KEY]) == known


def test_every_checkpoint_is_carried_on_wherever_the_newest_of_it_is(tmp_path: Path):
    """Each was last written by a commit of its own; a commit that has none of them comes after."""
    assert len(KEYS) == 4
    made = MadeTable(log_layout(load_lake_spec(Settings().lake_spec)), tmp_path / "log")
    for number, key in enumerate([*KEYS, *reversed(KEYS)], start=1):
        content: dict[str, Any] = {"extraMetadata": {METADATA_PREFIX + key: f"{key} {number}"}}
        made.commits(number, action="commit", **content)
    made.commits(9, action="commit", extraMetadata={})
    carried = checkpoints(Timeline(table="log", path=str(tmp_path / "log")))
    assert carried == {**NOTHING, **{key: f"{key} {8 - place}" for place, key in enumerate(KEYS)}}


def test_what_was_never_read_is_found_missing_in_the_newest_commit_alone(tmp_path: Path, monkeypatch):
    """Forty commits of a release that carried on only what there was, then one of this release."""
    made = MadeTable(log_layout(load_lake_spec(Settings().lake_spec)), tmp_path / "log")
    made.commits(*range(1, 41), action="commit", extraMetadata={METADATA_PREFIX + LEDGER_KEY: pack_ledger({})})
    before = checkpoints(Timeline(table="log", path=str(tmp_path / "log")))
    assert before == {**NOTHING, LEDGER_KEY: pack_ledger({})}
    made.commits(41, action="commit", extraMetadata={METADATA_PREFIX + key: text for key, text in before.items()})
    opened, read = list[str](), Filesystem.read

    def read_and_count(files: Filesystem, path: str) -> bytes | None:
        opened.append(path)
        return read(files, path)

    monkeypatch.setattr(Filesystem, "read", read_and_count)
    newest = Timeline(table="log", path=str(tmp_path / "log"))
    assert (read_ledger(newest), read_snapshots(newest), read_book(newest), read_kept(newest)) == ({}, {}, {}, {})
    assert source_book_of(newest) is None
    assert checkpoints(newest) == before
    assert len([path for path in opened if path.endswith(".commit")]) == 1
