"""Where in Kafka a lake begins to read, how far it has read, and how a client gets in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import show

EARLIEST, LATEST = "earliest", "latest"
_PROPERTIES = ("security.", "sasl.", "ssl.", "client.", "socket.", "broker.address.", "enable.ssl.")
_LOADS_CODE = re.compile(r"engine|providers|\.cmd$")
_START_FORMS = (
    f"give {EARLIEST}, {LATEST}, a time such as 2026-01-31T00:00:00Z, or the first offset of each partition as JSON: "
    f'{{"erp.dbo.SALES": {{"0": 17}}}}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a topic begins that was never read: ``earliest``, at a time, at offsets, or, in the first run, ``latest``.

    Offsets are given by topic and partition; what they do not name begins with the first message that is there.
    """

    word: str = EARLIEST
    moment: datetime | None = None
    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Start:
        """Read what ``LAKEHOUSE_KAFKA_START`` says; SettingsError when it says nothing that can be done."""
        if text in (EARLIEST, LATEST):
            return cls(word=text)
        if text.startswith("{"):
            try:
                given = {str(t): {int(p): _offset(o) for p, o in of.items()} for t, of in json.loads(text).items()}
            except (ValueError, AttributeError, TypeError):
                raise SettingsError(f"LAKEHOUSE_KAFKA_START={show(text)} gives no offsets; {_START_FORMS}") from None
            return cls(word="offsets", offsets=given)
        try:
            return cls(word="time", moment=parse_clock(text))
        except ContractError:
            raise SettingsError(f"LAKEHOUSE_KAFKA_START={show(text)} is no place to begin; {_START_FORMS}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicProgress:
    """How far a topic was read: of each partition the offset that comes ``next``.

    ``topic_id`` is its identity, which another topic of the same name does not have.
    """

    topic_id: str
    next: Mapping[int, int]


Progress = Mapping[str, TopicProgress]
"""By topic, how far it was read."""


def pack_progress(progress: Progress) -> str:
    """As short text for commit metadata, the same for the same progress."""
    by_topic = {
        topic: [of.topic_id, {str(number): of.next[number] for number in sorted(of.next)}]
        for topic, of in sorted(progress.items())
    }
    return json.dumps(by_topic, separators=(",", ":"))


def has_progress(text: str | None) -> bool:
    """False before the first read of Kafka: a log may have been written from files until then."""
    return bool(text)


def unpack_progress(text: str | None) -> dict[str, TopicProgress]:
    """Read what :func:`pack_progress` wrote; empty for None and ""."""
    stored = json.loads(text) if text else {}
    return {
        topic: TopicProgress(topic_id=topic_id, next={int(number): offset for number, offset in of.items()})
        for topic, (topic_id, of) in stored.items()
    }


def parse_properties(text: str) -> dict[str, str]:
    """How a client gets in, from a JSON object of librdkafka's names; SettingsError without the values when it is none.

    Only what belongs to security and the connection may be set: the rest would change what is read.
    """
    try:
        given = json.loads(text) if text else {}
    except ValueError:
        raise SettingsError(
            'LAKEHOUSE_KAFKA_PROPERTIES is not JSON; give an object such as {"security.protocol": "SASL_SSL"}'
        ) from None
    if not isinstance(given, dict):
        raise SettingsError("LAKEHOUSE_KAFKA_PROPERTIES is no JSON object; give names and values")
    for name in given:
        if not name.startswith(_PROPERTIES) or _LOADS_CODE.search(name):
            raise SettingsError(
                f"LAKEHOUSE_KAFKA_PROPERTIES sets {show(name)}, which is not for you to choose here; it takes "
                f"librdkafka's properties that begin with {', '.join(_PROPERTIES)}"
            )
        if not isinstance(given[name], str | bool | int):
            raise SettingsError(f"LAKEHOUSE_KAFKA_PROPERTIES: {name} is no text, number or boolean; correct it")
    return {name: _text(value) for name, value in given.items()}


def _offset(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
