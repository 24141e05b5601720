"""A person taken out of single records: against an oracle that parses JSON, and of records that are none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.people import Person, PersonSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.sources.redaction import Redactor
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.envelopes import line, sqlserver, wrapped

SPEC = load_lake_spec(Settings().lake_spec)
NAMES = ("Ann Quux", 'Zoë "Z" Ö\\')
REDACTOR = Redactor.build(
    SPEC,
    Person(spec=PersonSpec(role="agent", key="agent_id", columns=("agent_name",)), id="17", names=NAMES),
)

names = st.sampled_from((*NAMES, "A", "Bob", "", None, 'x": {"AgentId": 17'))
keys = st.sampled_from((17, 17.0, "17", " 017 ", "+17", "-17", 170, 7, "x17", 0, None, True))
images = st.fixed_dictionaries(
    {"SaleId": st.integers()},
    optional={"AgentId": keys, "AgentName": names, "Note": st.sampled_from((17, "AgentId", '"AgentId": 17', [17, {}]))},
)


def forget(value: Any) -> Any:
    """The oracle: the same document, parsed, with every object that is about them edited."""
    if isinstance(value, list):
        return [forget(each) for each in value]
    if not isinstance(value, dict):
        return value
    done = {name: forget(each) for name, each in value.items()}
    key, name = value.get("AgentId"), value.get("AgentName")
    is_about = (isinstance(key, str) and key.strip().lstrip("+0") == "17") or (
        isinstance(key, int | float) and not isinstance(key, bool) and key == 17
    )
    is_without_key = key is None or str(key).strip() == "0"  # the stand-in: a record whose editing was cut off
    if is_about:
        done["AgentId"] = "0" if isinstance(key, str) else 0
    if isinstance(name, str) and (is_about or (is_without_key and name in NAMES)):
        done["AgentName"] = None if len(json.dumps(name, ensure_ascii=False).encode()) >= 4 else ""
    return done


@given(image=images, before=st.none() | images, is_wrapped=st.booleans(), is_ascii=st.booleans(), indent=st.booleans())
def test_a_usable_record_is_what_the_oracle_says_and_as_long_as_before(
    image: dict[str, Any], before: Any, is_wrapped: bool, is_ascii: bool, indent: bool
):
    event = {**sqlserver("c", image, 3), "before": before}
    event = wrapped(event) if is_wrapped else event
    separators = (" , ", " : ") if indent else (",", ":")
    record = json.dumps(event, ensure_ascii=is_ascii, separators=separators).encode()
    redacted = REDACTOR.redact(record)
    assert len(redacted) == len(record)
    if not redacted.strip():
        assert not REDACTOR._is_usable(record), "only what cannot be used becomes blank"
        return
    found = json.loads(redacted)
    expected = forget(event)
    for document in (found, expected):  # which of the two an ASCII name becomes depends on its length as written
        for part in (document, document.get("payload") or {}):
            for side in ("before", "after"):
                if isinstance(part.get(side), dict) and not part[side].get("AgentName"):
                    part[side].pop("AgentName", None)
    assert found == expected


@given(st.binary(max_size=200))
def test_any_bytes_keep_their_length_and_what_names_no_person_stays(content: bytes):
    assert len(REDACTOR.redact(content)) == len(content)
    if not REDACTOR.hint.search(content):
        assert REDACTOR.redact(content) == content


@pytest.mark.parametrize(
    "record",
    [
        b'{"after": {"AgentId": 17, "AgentName": "Ann Quux", "SaleId',
        b"call Ann Quux about sale 3",
        b'{"op": "x", "note": "Ann Quux called"}',
        b'{"AgentId":17',
        b'}]} "Ann Quux" {"SaleId": 1}',
        b'\xff\xfe "AgentId" : "017"',
        b'sale of Zo\\u00EB \\"Z\\" \\u00D6\\\\',
    ],
)
def test_what_cannot_be_used_and_still_names_them_becomes_blank(record: bytes):
    assert REDACTOR.redact(record) == b" " * len(record)


@pytest.mark.parametrize(
    "record",
    [
        line(sqlserver("c", {"SaleId": 1, "AgentId": 18, "AgentName": "Ann Quux"}, 1)),  # a namesake, with another key
        b'{"op": "x", "note": "Ann Quuxley called"}',
        b'{"AgentId": 170',
        b'{"UnitId": 17',
    ],
)
def test_others_stay(record: bytes):
    assert REDACTOR.redact(record) == record


def test_keys_that_are_text_are_compared_as_they_are():
    """Another spec, whose agents are known by text: what looks like the same number is another person."""
    columns = tuple(replace(c, type=ColumnType.STRING) if c.name == "agent_id" else c for c in SPEC.source.columns)
    spec = replace(SPEC, source=replace(SPEC.source, columns=columns), marts=())
    person = Person(spec=PersonSpec(role="agent", key="agent_id"), id="Zo\u00eb\\17")
    redactor = Redactor.build(spec, person)
    for key, is_theirs in (("Zo\u00eb\\17", True), ("Zoe\\17", False), ("17", False)):
        for is_ascii in (False, True):
            record = json.dumps(sqlserver("c", {"SaleId": 1, "AgentId": key}, 1), ensure_ascii=is_ascii).encode()
            assert (redactor.redact(record) != record) is is_theirs
    exact = Person(spec=PersonSpec(role="agent", key="agent_id"), id="9007199254740993")
    other = line(sqlserver("c", {"SaleId": 1, "AgentId": 9007199254740992}, 1))
    assert Redactor.build(SPEC, exact).redact(other) == other


@pytest.mark.parametrize("name", [b"Ann\tQuux", b"Ann \\Quux", b"Ann\\u00 Quux"])
def test_beside_their_key_a_name_goes_that_is_no_text_of_json(name: bytes):
    """A raw tab, an escape that there is not: no reader takes the record, and it may not keep the name."""
    record = b'{"AgentId": 17, "AgentName": "%s", "SaleId": 1}' % name
    redacted = REDACTOR.redact(record)
    assert json.loads(redacted) == {"AgentId": 0, "AgentName": None, "SaleId": 1}
    assert len(redacted) == len(record)
