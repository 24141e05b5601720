"""Records look as Debezium 3 and Kafka Connect write them: members, their order, their types, the schema wrapper."""

from __future__ import annotations

import json

import pytest

from spark_jobs.generator.envelope import lsn
from spark_jobs.generator.events import Event

MEMBERS = ["before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns"]
SOURCE_MEMBERS = [
    "version", "connector", "name", "ts_ms", "snapshot", "db", "sequence", "ts_us", "ts_ns", "schema", "table",
    "change_lsn", "commit_lsn", "event_serial_no",
]  # fmt: skip


def test_members_are_the_connectors(life):
    for event in life.topic.good:
        assert list(event) == MEMBERS
        assert list(event["source"]) == SOURCE_MEMBERS
        source = event["source"]
        assert (source["connector"], source["name"], source["schema"], source["table"]) == (
            "sqlserver",
            "erp",
            "dbo",
            "SALES",
        )
        assert event["ts_ms"] > source["ts_ms"] == source["ts_us"] // 1_000 == source["ts_ns"] // 1_000_000


def test_the_snapshot_comes_first_without_change_lsn(life):
    events = life.topic.distinct
    rows = [event for event in events if event["op"] == "r"]
    assert events[: len(rows)] == rows
    assert [row["source"]["snapshot"] for row in rows] == ["first", *["true"] * (len(rows) - 2), "last"]
    assert {row["source"]["change_lsn"] for row in rows} == {None}
    assert len({row["source"]["commit_lsn"] for row in rows}) == 1
    assert {event["source"]["snapshot"] for event in events[len(rows) :]} == {"false"}
    assert all(event["source"]["change_lsn"] < event["source"]["commit_lsn"] for event in events[len(rows) :])


def test_images_are_where_their_op_has_them(life):
    has = {(event["op"], event["before"] is not None, event["after"] is not None) for event in life.topic.good}
    assert has == {("r", False, True), ("c", False, True), ("u", True, True), ("d", True, False)}


def test_log_positions_sort_as_sequences_do():
    sequences = [0, 1, 15, 16, 1_000, 2_097_151, 2_097_152, 2_097_153, 40_000_000]
    positions = [lsn(sequence, slot) for sequence in sequences for slot in (2, 3, 0x20, 0x8000)]
    assert positions == sorted(positions)
    assert len(set(positions)) == len(positions)
    assert {len(position) for position in positions} == {22}


@pytest.mark.parametrize("added_column_at", [0.0, 1.0], ids=["customers", "no customers"])
def test_the_wrapper_describes_its_payload(make, added_column_at):
    run = make(events=200, is_wrapped=True, rates={"broken": 0.0, "added_column_at": added_column_at})
    bare = make(events=200, rates={"broken": 0.0, "added_column_at": added_column_at})
    assert run.topic.good == bare.topic.good
    assert run.truth == bare.truth
    for line in run.topic.lines:
        if line == b"null":
            continue
        record = json.loads(line)
        parts = {part["field"]: part for part in record["schema"]["fields"]}
        assert list(parts) == [name for name in MEMBERS if name in parts]
        assert set(parts) == set(record["payload"])
        for image in ("before", "after"):
            if record["payload"][image]:
                assert [column["field"] for column in parts[image]["fields"]] == list(record["payload"][image])
        assert [member["field"] for member in parts["source"]["fields"]] == SOURCE_MEMBERS
        types = {column["field"]: (column["type"], column.get("name")) for column in parts["after"]["fields"]}
        assert types["ContractSigningDate"] == ("int64", "io.debezium.time.Timestamp")
        assert types["ContractSubtotal"] == ("string", None)


def test_an_event_survives_its_state():
    event = Event(1, "c", 2, 3, 4, 5, True, (1, None, "x"), "{}")
    assert Event.from_state(json.loads(json.dumps(event))) == event
    deleted = event._replace(row=None)
    assert Event.from_state(json.loads(json.dumps(deleted))) == deleted
