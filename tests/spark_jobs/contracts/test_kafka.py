"""Settings of Kafka: parsed when they are valid, else refused with a message that gives the valid forms."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.kafka import Start, TopicProgress, pack_progress, parse_properties, unpack_progress


def test_places_to_begin():
    assert [Start.parse(word).word for word in ("earliest", "latest")] == ["earliest", "latest"]
    assert Start.parse("2026-01-31T01:00:00+01:00").moment == datetime(2026, 1, 31, tzinfo=UTC)
    assert Start.parse('{"erp.dbo.SALES": {"0": 17}}').offsets == {"erp.dbo.SALES": {0: 17}}


@pytest.mark.parametrize(
    "text",
    [
        "first",
        "EARLIEST",
        '{"t": 3}',
        '{"t": {"0": -1}}',
        '{"t": {"0": "3"}}',
        '{"t": {"0": true}}',
        '{"t": {"zero": 1}}',
        '{"t":',
        '{"t": {"0": 1.5}}',
        "{} x",
    ],
)
def test_an_invalid_start_is_refused_with_the_valid_forms(text):
    with pytest.raises(SettingsError, match=r"LAKEHOUSE_KAFKA_START=.*give earliest, latest, a time such as"):
        Start.parse(text)


def test_properties_of_security_are_librdkafkas():
    given_properties = {"security.protocol": "SASL_SSL", "enable.ssl.certificate.verification": True}
    assert parse_properties(json.dumps(given_properties)) == {
        "security.protocol": "SASL_SSL",
        "enable.ssl.certificate.verification": "true",
    }
    assert parse_properties("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "password",
        '["sasl.password"]',
        '{"auto.offset.reset": "latest"}',
        '{"isolation.level": "read_uncommitted"}',
        '{"group.id": "g"}',
        '{"bootstrap.servers": "elsewhere:1"}',
        '{"ssl.engine.location": "/tmp/x.so"}',
        '{"ssl.providers": "x"}',
        '{"plugin.library.paths": "x"}',
        '{"sasl.kerberos.kinit.cmd": "x"}',
        '{"sasl.password": {"a": 1}}',
        '{"sasl.password": null}',
    ],
)
def test_what_would_change_what_is_read_or_load_code_is_refused(text):
    with pytest.raises(SettingsError, match="LAKEHOUSE_KAFKA_PROPERTIES"):
        parse_properties(text)


def test_no_value_is_shown_when_properties_are_refused():
    with pytest.raises(SettingsError) as caught:
        parse_properties('{"sasl.password": "canary-1234", "group.id": "canary-5678"}')
    assert "canary" not in str(caught.value)


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True),
        st.builds(
            TopicProgress,
            topic_id=st.text(max_size=5),
            next=st.dictionaries(st.integers(0, 99), st.integers(0, 2**62), max_size=4),
        ),
        max_size=4,
    )
)
def test_progress_is_read_as_it_was_written(progress):
    assert unpack_progress(pack_progress(progress)) == progress
    assert unpack_progress(None) == {}
