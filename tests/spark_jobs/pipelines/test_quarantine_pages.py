"""What a person sees of the quarantine: kinds with their numbers, few records one by one, one with its history."""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.quarantine import OpenRecords, quarantine_overview
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.timeline import Timeline
from tests.support.broken import BROKEN, good
from tests.support.envelopes import line
from tests.support.lakes import Lake
from tests.support.quarantines import BECAUSE, act, hash_of, repair

pytestmark = pytest.mark.hudi

REPLAYED, DISCARDED, OPEN = (BROKEN["key is text"][1](7), BROKEN["unknown op"][1](8), BROKEN["op is a list"][1](9))


def test_kinds_and_records_are_listed_and_one_is_shown_with_its_history(lake: Lake, capsys: pytest.CaptureFixture[str]):
    assert lake.run("quarantine", action="list").counters["records"] == 0
    assert "nothing was ever quarantined" in capsys.readouterr().out
    lake.land("a.jsonl", [line(good(1)), REPLAYED, DISCARDED, OPEN])
    lake.run("ingest")
    repair(lake, REPLAYED, line(good(7)))
    act(lake, "discard", record=hash_of(DISCARDED))
    assert act(lake, "discard", record=hash_of(DISCARDED)).messages == ("the record is discarded already",)
    (message,) = repair(lake, REPLAYED, line(good(7))).messages
    (event,) = (row["event_id"] for row in lake.rows("sales_log") if row["sale_id"] == 7)
    assert message == f"the record is an event of sales_log already: {event}"
    with pytest.raises(ContractError, match="is corrected at its source"):
        act(lake, "discard", record=hash_of(REPLAYED))

    spec, settings = load_lake_spec(lake.settings.lake_spec), lake.settings
    seen = quarantine_overview(spec, settings, with_records=True, cache=LakeCache())
    reasons = [BROKEN[name][0] for name in ("key is text", "unknown op", "op is a list")]
    states = zip(reasons, ("replayed", "discarded", "open"), strict=True)
    assert {(kind.reason, kind.state): kind.records for kind in seen.kinds} == dict.fromkeys(states, 1)
    assert [record.raw for record in seen.records] == [OPEN.decode()]
    timeline = Timeline(table=spec.quarantine, path=settings.table_path(spec.quarantine))
    assert OpenRecords().look(timeline) == {reasons[2]: 1}

    capsys.readouterr()
    assert act(lake, "list").counters["records"] == 3
    listed = capsys.readouterr().out
    assert all(hash_of(raw)[:12] in listed for raw in (REPLAYED, DISCARDED, OPEN))
    for options, shown in (
        ({"state": "open"}, [OPEN]),
        ({"state": "discarded"}, [DISCARDED]),
        ({"reason": "bad_integer"}, [REPLAYED]),
        ({"reason": "bad_integer", "state": "open"}, []),
    ):
        assert act(lake, "list", **options).counters["records"] == len(shown)
        text = capsys.readouterr().out
        assert [raw for raw in (REPLAYED, DISCARDED, OPEN) if hash_of(raw)[:12] in text] == shown
        assert ("no record is of that kind" in text) == (not shown)

    act(lake, "show", record=hash_of(REPLAYED))
    text = capsys.readouterr().out
    assert hash_of(REPLAYED) in text
    assert event in text
    assert BECAUSE["because"] in text
    assert REPLAYED.decode() not in text, "its bytes may be about people"
    act(lake, "show", record=hash_of(REPLAYED), raw=True)
    assert REPLAYED.decode() in capsys.readouterr().out
