"""The metadata of a mart at an instant: of every key the value of the newest commit up to then, and of no later one."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.marts.undo import metadata_at
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import mart_layout
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

MART = load_lake_spec(Settings().lake_spec).mart("slow_agent_performance")


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    """A commit of every second instant; each has its number in its metadata, only the first and third a definition."""
    made = MadeTable(mart_layout(MART), tmp_path / MART.name)
    for number in (2, 4, 6, 8):
        metadata = {"lakehouse.clock": f"clock {number}", "lakehouse.checkpoint.slow_milestones": at(number - 1)}
        metadata |= {"lakehouse.definition": f"definition {number}"} if number in (2, 6) else {}
        metadata |= {"lakehouse.rules": f"rules {number}", "lakehouse.changes": f"feed {number}", "other": "not ours"}
        metadata |= {
            f"lakehouse.{key}": str(number) for key in ("service", "rebuilt", "record_key_before", "row_counts")
        }
        made.commits(number, action="commit", extraMetadata=metadata, operationType="UPSERT")
    return Timeline(table=MART.name, path=str(made.folder))


@pytest.mark.parametrize(
    ("instant", "of", "definition"),
    [(2, 2, 2), (3, 2, 2), (4, 4, 2), (5, 4, 2), (6, 6, 6), (7, 6, 6), (8, 8, 6), (9, 8, 6)],
)
def test_it_is_that_of_the_newest_commit_up_to_the_instant(timeline, instant, of, definition):
    assert metadata_at(timeline, at(instant)) == {
        "clock": f"clock {of}",
        "checkpoint.slow_milestones": at(of - 1),
        "definition": f"definition {definition}",
        "rules": f"rules {of}",
    }


def test_before_the_first_commit_there_is_none(timeline):
    assert metadata_at(timeline, at(1)) == {}
