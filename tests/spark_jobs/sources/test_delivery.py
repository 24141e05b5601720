"""What a commit of the log keeps of what was read, and what the next one carries on: nothing is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.kafka import TopicProgress, unpack_progress
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.schemas import SCHEMAS_KEY
from spark_jobs.sources import delivery
from spark_jobs.sources.delivery import PROGRESS_KEY, KafkaDelivery
from spark_jobs.sources.discovery import checkpoints
from spark_jobs.sources.kafka_plan import KafkaPlan
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable

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
    assert carried == {key: f"{key} {8 - place}" for place, key in enumerate(KEYS)}
