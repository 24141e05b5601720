"""Taking a person out of a delivered record, byte for byte: what is not about them stays, and so does every length.

A record's row images are found by their braces, not by parsing and writing again: numbers keep their digits, and the
places of all other records in a file stay what the log says of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.rejections import OtherTableError, RejectedRecordError
from spark_jobs.lake_spec.naming import event_namings
from spark_jobs.lake_spec.people import STAND_IN, Person
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_sources import Ways
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.positions import names_in
from spark_jobs.sources.records import is_keyed

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NULL, _EMPTY = b"null", b'""'
_NOTHING = rb"(?!)"
"""A pattern that nothing fits."""

Members = dict[str, tuple[int, int]]
"""Where in the record the plain values of one JSON object are."""


@dataclass(frozen=True, slots=True)
class RecordNaming:
    """By which members of a row image a record names the person. ``is_number`` of a key that may be written as one."""

    key: str
    names: tuple[str, ...]
    is_number: bool


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes one person out of records. Built on every executor: it holds patterns and a decoder.

    ``wide`` is how records of the wide log name the person, ``tables`` how those of tables at the source do; ``hint``
    finds what may be about them at all, ``trace`` what must be in no record that cannot be used.
    """

    person: Person
    wide: RecordNaming | None
    tables: Mapping[str, tuple[RecordNaming, ...]]
    decoder: EnvelopeDecoder
    hint: re.Pattern[bytes]
    trace: re.Pattern[bytes]
    ways: Ways = ((False, False),)

    @classmethod
    def build(cls, spec: LakeSpec, person: Person) -> Redactor:
        """For the source's own names of the columns."""
        wide = None
        if person.spec.key:
            column = spec.columns_by_name[person.spec.key]
            names = tuple(spec.columns_by_name[name].source for name in person.spec.columns)
            wide = RecordNaming(key=column.source, names=names, is_number=column.type is ColumnType.BIGINT)
        is_number = person.id.lstrip("-").isdigit()
        tables = {
            origin: tuple(RecordNaming(key=each.key, names=each.columns, is_number=is_number) for each in namings)
            for origin, namings in event_namings(person.spec, spec).items()
        }
        spelt = sorted(
            {rb"(?<![0-9A-Za-z_])%s(?![0-9A-Za-z_])" % re.escape(f) for name in person.names for f in _spellings(name)}
        )
        trace = [*([_key_pattern(person, wide)] if wide else []), *spelt]
        keys = {_key_pattern(person, each) for namings in tables.values() for each in namings}
        return cls(
            person=person,
            wide=wide,
            tables=tables,
            decoder=EnvelopeDecoder(spec),
            hint=re.compile(b"|".join([*trace, *sorted(keys)])),
            trace=re.compile(b"|".join(trace or [_NOTHING])),
            ways=spec.ways,
        )

    def redact(self, record: bytes) -> bytes:
        """The record without the person, as long as before.

        In every object that has their key, the key becomes ``STAND_IN`` and the names beside it null; where the key is
        missing, a name of theirs goes too. A record that cannot be used and still mentions them becomes blank.
        """
        if not self.hint.search(record):
            return record
        content = bytearray(record)
        for members in _objects(record):
            for naming in self._namings(record):
                self._redact_object(content, record, members, naming)
        redacted = bytes(content)
        if self.trace.search(redacted) and not self._is_usable(redacted):
            return b" " * len(record)
        return redacted

    def _namings(self, record: bytes) -> tuple[RecordNaming, ...]:
        """How this record names people: as its table at the source does, or as the wide log.

        A key without a row, which marks a deleted one, may be of any table.
        """
        wide = (self.wide,) if self.wide else ()
        if not self.tables:
            return wide
        content = _read(record)
        if content is None:
            return (*wide, *(naming for namings in self.tables.values() for naming in namings))
        return next(filter(None, map(self.tables.get, origins_in(content, self.ways))), wide)

    def mentions(self, text: str) -> bool:
        """True when the text has one of the names."""
        return any(name in text for name in self.person.names)

    def _redact_object(self, content: bytearray, record: bytes, members: Members, naming: RecordNaming) -> None:
        key = _text(record, members.get(naming.key))
        is_about = key is not None and self.person.has_key(key, is_number=naming.is_number)
        # The stand-in with a name of theirs is a record whose editing was cut off.
        is_without_key = key is None or key.strip() == str(STAND_IN)
        if is_about:
            quote = b'"' if record[members[naming.key][0]] == ord('"') else b""
            _put(content, members[naming.key], quote + str(STAND_IN).encode() + quote)
        for name in naming.names:
            value = _text(record, members.get(name))
            if value is not None and (is_about or (is_without_key and value in self.person.names)):
                first, last = members[name]
                _put(content, members[name], _NULL if last - first >= len(_NULL) else _EMPTY)

    def _is_usable(self, record: bytes) -> bool:
        try:
            self.decoder.decode(record)
        except (RejectedRecordError, OtherTableError):
            return False
        return True


def _read(record: bytes) -> Any:
    """What is in a record, without the key beside it; None where that is all there is."""
    try:
        content = json.loads(record)
    except (ValueError, RecursionError):
        return ""
    return content["value"] if isinstance(content, dict) and is_keyed(content) else content


def origins_in(content: Any, ways: Ways) -> tuple[str, ...]:
    """The names of the table at the source that a record is of, by what is in it; none when it does not say."""
    try:
        body = content.get("payload", content) if isinstance(content, dict) else None
        source = body.get("source") if isinstance(body, dict) else None
        return names_in(source, str(source.get("connector")), ways) if isinstance(source, dict) else ()
    except (ValueError, AttributeError):
        return ()


def _key_pattern(person: Person, naming: RecordNaming) -> bytes:
    """A member with the person's key, as it may be written."""
    number = rb'"?\s*[+]?%s0*%s(?![0-9A-Za-z_])' % (b"-" * person.id.startswith("-"), person.id.strip("-").encode())
    text = rb'"(?:%s)"' % b"|".join(map(re.escape, _spellings(person.id)))
    return rb'"%s"\s*:\s*%s' % (re.escape(naming.key.encode()), number if naming.is_number else text)


def _objects(record: bytes) -> Iterator[Members]:
    """The members of every object that is closed, inner ones first."""
    stack: list[Members] = []
    key = previous = None
    for match in _TOKEN.finditer(record):
        token = match.group()
        if token == b"{":
            stack.append({})
            key = None
        elif token == b"}":
            if stack:
                yield stack.pop()
            key = None
        elif token == b":":
            key = previous
        elif token in (b",", b"[", b"]"):
            key = None
        elif key is not None and stack:
            stack[-1][key] = match.span()
            key = None
        else:
            previous = _unquote(token)


def _text(record: bytes, span: tuple[int, int] | None) -> str | None:
    """A plain value as text; None for null and for nothing."""
    if span is None or record[slice(*span)] == _NULL:
        return None
    return _unquote(record[slice(*span)])


def _unquote(token: bytes) -> str:
    try:
        return str(json.loads(token)) if token.startswith(b'"') else token.decode("utf-8", "replace")
    except ValueError:
        return token[1:-1].decode("utf-8", "replace")


def _put(content: bytearray, span: tuple[int, int], value: bytes) -> None:
    content[slice(*span)] = value.ljust(span[1] - span[0])


def _spellings(name: str) -> tuple[bytes, ...]:
    """A name as it may be written in JSON: as it is, and with what is not ASCII escaped, by small or large letters."""
    escaped = json.dumps(name)[1:-1]
    large = re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match.group()[2:].upper(), escaped)
    return name.encode(), json.dumps(name, ensure_ascii=False)[1:-1].encode(), escaped.encode(), large.encode()
