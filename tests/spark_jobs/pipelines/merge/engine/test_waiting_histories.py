"""When a history waits for its table: no engine, the state of a run by hand.

``prices`` is a table at the source with a history, ``units`` one of the wide log with none.
"""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.tables import targets_of
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.contexts import context_of

SPEC = parse_lake_spec(
    {
        "lake": "shop",
        "source": {
            "topics": ["shop.*"],
            "key": "id",
            "columns": [{"name": name, "source": name, "type": "bigint"} for name in ("id", "unit")],
        },
        "log": "log",
        "quarantine": "bad",
        "tables": [
            {"name": "units", "key": "unit", "columns": ["id"], "history": True},
            {"name": "prices", "key": "id", "from": {"database": "shop", "table": "prices"}, "history": True},
            {"name": "plain", "key": "id", "from": {"database": "shop", "table": "plain"}},
        ],
    }
)
AT = {day: f"2026010{day}000000000" for day in (3, 4, 5)}


@pytest.fixture
def merge() -> Merge:
    return Merge(context=context_of("split", Settings(), spec=SPEC), chosen=SPEC.tables)


def waiting(merge: Merge, after: str, places: dict[str, str]) -> list[str]:
    return [name for name in targets_of(SPEC.tables) if merge._is_ahead(name, after, places)]


def test_a_history_is_never_further_than_its_table(merge: Merge):
    places = dict.fromkeys(targets_of(SPEC.tables), AT[5])
    assert waiting(merge, AT[5], places) == []
    assert waiting(merge, AT[3], places) == [], "it catches up"
    assert waiting(merge, AT[5], {**places, "prices": AT[4]}) == ["prices_history"]


def test_a_history_waits_when_its_table_failed_or_was_blocked(merge: Merge):
    places = dict.fromkeys(targets_of(SPEC.tables), AT[5])
    merge.merged.failed["prices"] = TransientError("no space")
    assert waiting(merge, AT[3], places) == ["prices_history"]
    merge.merged.blocked = TransientError("stopped by an expectation")
    assert waiting(merge, AT[3], places) == ["units_history", "prices_history"]
