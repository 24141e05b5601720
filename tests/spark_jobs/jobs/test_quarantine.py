"""quarantine: broken records replayed, repaired, discarded and delivered again, in any order; nothing lost or doubled.

Broken records are those of tests.support.broken: each is a good change of a sale of its own key, made unusable, so its
repaired form is that good change. The oracle gets what was delivered and what was repaired, in any order.
"""

from __future__ import annotations

import gzip
import json
import random
from datetime import timedelta
from itertools import pairwise

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sources.discovery import read_ledger
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.catalog.schemas import fields_of
from spark_jobs.storage.layouts import quarantine_layout
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.quarantine import RECORD_COLUMNS
from tests.support.broken import BROKEN, good
from tests.support.contexts import CLOCK
from tests.support.crashes import crash_at_commit, run_and_crash
from tests.support.envelopes import line, sqlserver
from tests.support.erasures import AGENT, AGENT_NAMES, traces
from tests.support.lakes import Lake, assert_equals_oracle
from tests.support.quarantines import BECAUSE, act, hash_of, kept, repair, states

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

FIRST = 100
SMALL = [kind for kind in BROKEN if kind not in ("1 MB of text", "very deep")]


def broken(kind: str, key: int) -> bytes:
    return BROKEN[kind][1](key)


def one_of_each_reason() -> dict[bytes, bytes]:
    """A broken record of every reason that a decoder gives, and its repaired form."""
    kinds = {reason: kind for kind, (reason, _) in reversed(BROKEN.items())}
    return {broken(kind, FIRST + n): line(good(FIRST + n)) for n, kind in enumerate(kinds.values())}


def ledger(lake: Lake) -> object:
    return read_ledger(Timeline(table="sales_log", path=lake.path("sales_log")))


@pytest.mark.slice(name="jobs")
def test_the_story_of_each_reason(lake, capsys):
    """Delivered, listed, shown, tried as it is, repaired, split, repaired again; the landing files stay read."""
    records = one_of_each_reason()
    whole = line(good(90))
    lake.land("mixed.jsonl", [line(good(1)), *records])
    path = lake.land("cut.jsonl", [line(good(2))])
    path.write_bytes(line(good(2)) + b"\n" + whole[:50])
    damaged = lake.land("damaged.gz", [])
    damaged.write_bytes(gzip.compress(line(good(3)) + b"\n") + b"this is no gzip member")
    later = CLOCK + timedelta(days=10_000)
    lake.run("ingest", clock=later)
    before, of_files = kept(lake), {row["reason"] for row in lake.rows("quarantine")} & {"truncated", "bad_file"}
    assert of_files == {"truncated", "bad_file"}
    assert {row["reason"] for raw, row in before.items() if raw in records} == {reason for reason, _ in BROKEN.values()}
    known = ledger(lake)

    result = act(lake, "replay", all=True, clock=later)
    assert (result.counters["records"], result.counters["events_new"]) == (len(before), 0)
    tried = kept(lake)
    for raw, row in tried.items():
        assert (row["reason"], row["detail"]) == (before[raw]["reason"], before[raw]["detail"])
        (attempt,) = row["history"]
        assert {**attempt, "outcome": ""} == {
            "at": later.isoformat().replace("+00:00", "Z"),
            "action": "replay",
            "outcome": "",
            **BECAUSE,
        }
        assert attempt["outcome"].startswith("cannot be used: ")
        assert row["reason"] in (*of_files, attempt["outcome"].removeprefix("cannot be used: "))

    delivered = [line(good(1)), line(good(2)), *before]
    for raw, repaired in records.items():
        assert repair(lake, raw, repaired).counters["events_new"] == 1
    (cut,) = (raw for raw, row in before.items() if row["reason"] == "truncated")
    repair(lake, cut, whole)
    lake.run("split")
    log = {row["sale_id"]: row for row in lake.rows("sales_log")}
    assert_equals_oracle(lake, [*delivered, line(good(3)), *records.values(), whole])
    after = kept(lake)
    for raw, repaired in {**records, cut: whole}.items():
        event = log[json.loads(repaired)["after"]["SaleId"]]
        assert (after[raw]["state"], after[raw]["became"]) == ("replayed", event["event_id"])
        assert (event["read_from"], event["read_offset"]) == (before[raw]["read_from"], before[raw]["read_offset"])
        assert [each["action"] for each in after[raw]["history"]] == ["replay", "replay, repaired"]
    assert ledger(lake) == known
    assert lake.run("ingest", clock=later).status == "nothing_to_do"
    assert repair(lake, cut, whole).status == "nothing_to_do", "it is in the log"
    with pytest.raises(ContractError, match="corrected at its source"):
        act(lake, "discard", record=hash_of(cut))

    capsys.readouterr()
    act(lake, "show", record=hash_of(cut))
    shown = capsys.readouterr().out
    assert hash_of(cut) in shown
    assert log[90]["event_id"] in shown
    assert cut.decode() not in shown
    act(lake, "show", record=hash_of(cut), raw=True)
    assert cut.decode() in capsys.readouterr().out
    act(lake, "list")
    listed = capsys.readouterr().out
    assert all(reason in listed for reason, _ in BROKEN.values())
    assert act(lake, "list", state="open").counters["records"] == len(before) - len(records) - 1
    assert hash_of(cut)[:12] not in capsys.readouterr().out
    assert act(lake, "list", reason="truncated").counters["records"] == 1
    assert hash_of(cut)[:12] in capsys.readouterr().out


@pytest.mark.slice(name="jobs")
@pytest.mark.parametrize(("seed", "steps"), [(11, 12), (12, 12)])
def test_whatever_is_done_in_whatever_order(lake, seed, steps):
    """Steps by chance over eight records, beside a model in plain Python; then everything is as the oracle says."""
    rng = random.Random(seed)
    records = {broken(kind, FIRST + n): line(good(FIRST + n)) for n, kind in enumerate(rng.sample(SMALL, 8))}
    lines = [line(good(1)), *records]
    lake.land("first.jsonl", lines)
    lake.run("ingest")
    wanted = dict.fromkeys(records, "open")
    attempts = dict.fromkeys(records, 0)
    for number in range(steps):
        raw = rng.choice(list(records))
        step = rng.choice(["repair", "repair", "replay", "discard", "deliver", "deliver good", "wrong", "all", "split"])
        is_final = wanted[raw] == "replayed"
        if step == "repair":
            repair(lake, raw, records[raw])
            lines.append(records[raw])
            attempts[raw] += not is_final
            wanted[raw] = "replayed"
        elif step == "wrong":
            repair(lake, raw, b'{"op":"x"}')
            attempts[raw] += not is_final
        elif step == "replay":
            act(lake, "replay", record=hash_of(raw))
            attempts[raw] += not is_final
        elif step == "discard" and not is_final:
            act(lake, "discard", record=hash_of(raw))
            attempts[raw] += wanted[raw] == "open"
            wanted[raw] = "discarded"
        elif step == "all":
            act(lake, "replay", all=True)
            attempts = {each: n + (wanted[each] == "open") for each, n in attempts.items()}
        elif step.startswith("deliver"):
            text = raw if step == "deliver" else records[raw]
            lines.append(text)
            lake.land(f"{number}.jsonl", [text, line(good(1)), text])
            result = lake.run("ingest")
            assert result.counters["records_quarantined"] == 0
        elif step == "split":
            lake.run("split")
        found = kept(lake)
        assert {each: row["state"] or "open" for each, row in found.items()} == wanted, step
        assert {each: len(row["history"]) for each, row in found.items()} == attempts, step
    lake.run("split")
    assert_equals_oracle(lake, lines)


@pytest.mark.parametrize(
    ("number", "is_committed"),
    [
        (1, True),
        (2, False),
        pytest.param(1, False, marks=pytest.mark.slice(name="jobs")),
        pytest.param(2, True, marks=pytest.mark.slice(name="jobs")),
    ],
)
def test_a_replay_that_dies_at_a_commit_and_is_run_again(lake, number, is_committed):
    raw, repaired = broken("key is text", 7), line(good(7))
    lake.land("a.jsonl", [line(good(1)), raw])
    lake.run("ingest")
    file = lake.folder / "repaired.json"
    file.write_bytes(repaired)
    options = {"action": "replay", "record": hash_of(raw), "repaired": str(file), **BECAUSE}
    install = crash_at_commit("pipelines.ingestion.replay", number, is_committed=is_committed)
    assert run_and_crash(lake, "quarantine", install, **options)
    logged = [row for row in lake.rows("sales_log") if row["sale_id"] == 7]
    assert len(logged) == int((number, is_committed) != (1, False))
    assert states(lake)[raw] == ("replayed" if (number, is_committed) == (2, True) else "open")
    before = len(lake.instants()["sales_log"])
    act(lake, **options)
    assert len(lake.instants()["sales_log"]) == before + (1 - len(logged)), "what the log has is not written again"
    assert states(lake)[raw] == "replayed"
    assert len(kept(lake)[raw]["history"]) == 1
    lake.run("split")
    assert_equals_oracle(lake, [line(good(1)), raw, repaired])
    assert lake.run("ingest").status == "nothing_to_do"


@pytest.mark.slice(name="jobs")
def test_two_records_that_become_one_event(lake):
    records = [broken("key is text", 7), broken("op is a list", 7)]
    lake.land("a.jsonl", records)
    lake.run("ingest")
    assert [repair(lake, raw, line(good(7))).counters["events_new"] for raw in records] == [1, 0]
    assert {row["became"] for row in kept(lake).values()} == {lake.rows("sales_log")[0]["event_id"]}
    assert set(states(lake).values()) == {"replayed"}


def test_what_was_delivered_again_stays_discarded(lake):
    raw, other = broken("key is text", 7), broken("unknown op", 8)
    lake.land("a.jsonl", [raw])
    lake.run("ingest")
    assert act(lake, "discard", reason="bad_integer").counters["records"] == 1
    assert act(lake, "discard", reason="bad_integer").status == "nothing_to_do"
    before = kept(lake)[raw]
    lake.land("b.jsonl", [raw, other, raw])
    counters = lake.run("ingest", clock=CLOCK + timedelta(hours=1)).counters
    assert (counters["records_quarantined"], counters["records_duplicate"]) == (1, 2)
    assert kept(lake)[raw] == before
    assert act(lake, "replay", all=True).counters["records"] == 1, "what is discarded is not meant by all"
    repair(lake, raw, line(good(7)))
    assert states(lake) == {raw: "replayed", other: "open"}


@pytest.mark.slice(name="jobs")
def test_a_lake_made_before_there_were_states(lake):
    """Its table lacks the columns: its records are open, new ones come beside them, both readers see all."""
    first, second, third = (broken("key is text", key) for key in (7, 8, 9))
    lake.land("a.jsonl", [line(good(1)), first, second])
    lake.run("ingest")
    spec = load_lake_spec(lake.settings.lake_spec)
    rows = [tuple(row[name] for name in RECORD_COLUMNS) for row in lake.rows("quarantine")]
    schema = (
        "record_hash string, reason string, detail string, raw binary, read_from string, read_offset bigint, "
        "ingest_time timestamp"
    )
    folder = lake.folder / "lake" / "quarantine"
    folder.rename(lake.folder / "new_form")
    old_df = lake.spark.createDataFrame(rows, schema)
    commit(old_df, quarantine_layout(spec), metadata={}, settings=lake.settings)
    assert set(lake.rows("quarantine")[0]) == set(RECORD_COLUMNS)
    assert act(lake, "list").counters["records"] == 2
    repair(lake, first, line(good(7)))
    lake.land("b.jsonl", [second, third])
    lake.run("ingest")
    assert states(lake) == {first: "replayed", second: "open", third: "open"}
    schema = Timeline(table="quarantine", path=lake.path("quarantine")).newest_metadata("schema") or ""
    assert [name for name, _ in fields_of(schema)][-3:] == ["state", "history", "became"]
    lake.run("split")
    assert_equals_oracle(lake, [line(good(1)), first, second, third, line(good(7))])


@pytest.mark.slice(name="jobs")
def test_a_person_is_erased_from_records_and_histories(lake):
    named = {"SaleId": "seven", "AgentId": AGENT, "AgentName": AGENT_NAMES[0]}
    raw, repaired = line(sqlserver("c", named, 7)), line(sqlserver("c", {**named, "SaleId": 7}, 7))
    lake.land("a.jsonl", [line(good(1)), raw])
    lake.run("ingest")
    act(lake, "replay", record=hash_of(raw), because=f"requested by {AGENT_NAMES[0]}")
    repair(lake, raw, repaired)
    (lake.folder / "repaired.json").unlink()
    lake.run("split")
    words = (str(AGENT), AGENT_NAMES[0])
    assert traces(lake.folder / "lake" / "quarantine", words)
    lake.run("erase", agent=AGENT, yes=True)
    assert traces(lake.folder, words) == []
    (row,) = lake.rows("quarantine")
    assert (row["record_hash"], row["state"]) == (hash_of(raw), "replayed")
    first, second = json.loads(row["history"])
    assert (first["because"], first["by"], second["because"]) == ("", "Ann", BECAUSE["because"])
    lake.land("again.jsonl", [raw])
    assert lake.run("ingest").counters["records_quarantined"] == 0, "it does not come back by being delivered"
    assert traces(lake.folder / "lake", words) == []


def test_a_hash_names_one_record(lake):
    with pytest.raises(ContractError, match="nothing was ever quarantined"):
        lake.run("quarantine", action="show", record="0123")
    assert lake.run("quarantine", action="replay", all=True, **BECAUSE).status == "nothing_to_do"
    lake.land("a.jsonl", [text for n in range(1500) for text in (b"%d" % n, line(good(n)))])
    lake.run("ingest")
    hashes = sorted(hash_of(b"%d" % n) for n in range(1500))
    shared = next(a[:4] for a, b in pairwise(hashes) if a[:4] == b[:4])
    with pytest.raises(ContractError, match="records have hashes that begin with"):
        act(lake, "replay", record=shared)
    missing = next(f"{n:04x}" for n in range(2**16) if not any(each.startswith(f"{n:04x}") for each in hashes))
    with pytest.raises(ContractError, match="no record has a hash that begin"):
        act(lake, "discard", record=missing)
    assert set(states(lake).values()) == {"open"}
