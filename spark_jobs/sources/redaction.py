"""Taking somebody out of a delivered record, byte for byte: what is not about them stays, and so does every length.

A record's row images are found by their braces, not by parsing and writing again: numbers keep their digits, and the
places of all other records in a file stay what the log says of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.contracts.people import STAND_IN, Person
from spark_jobs.contracts.rejections import RejectedRecordError
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import ColumnType
from spark_jobs.sources.envelope import EnvelopeDecoder

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NULL, _EMPTY = b"null", b'""'

Members = dict[str, tuple[int, int]]
"""Where in the record the plain values of one JSON object stand."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes one person out of records. Made anew on every executor: it holds patterns and a decoder."""

    person: Person
    key: str
    names: tuple[str, ...]
    is_number: bool
    decoder: EnvelopeDecoder
    hint: re.Pattern[bytes]

    @classmethod
    def build(cls, spec: LakeSpec, person: Person) -> Redactor:
        """For the source's own names of the columns."""
        column = spec.columns_by_name[person.spec.key]
        key, is_number = column.source, column.type is ColumnType.BIGINT
        spelt = {
            rb"(?<![0-9A-Za-z_])%s(?![0-9A-Za-z_])" % re.escape(f) for name in person.names for f in _spellings(name)
        }
        number = rb'"?\s*[+]?%s0*%s(?![0-9A-Za-z_])' % (b"-" * person.id.startswith("-"), person.id.strip("-").encode())
        text = rb'"(?:%s)"' % b"|".join(map(re.escape, _spellings(person.id)))
        is_key = rb'"%s"\s*:\s*%s' % (re.escape(key.encode()), number if is_number else text)
        return cls(
            person=person,
            key=key,
            names=tuple(spec.columns_by_name[name].source for name in person.spec.columns),
            is_number=is_number,
            decoder=EnvelopeDecoder(spec),
            hint=re.compile(b"|".join([is_key, *sorted(spelt)])),
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
            self._redact_object(content, record, members)
        redacted = bytes(content)
        if self.hint.search(redacted) and not self._is_usable(redacted):
            return b" " * len(record)
        return redacted

    def mentions(self, text: str) -> bool:
        """True when one of the names stands in the text."""
        return any(name in text for name in self.person.names)

    def _redact_object(self, content: bytearray, record: bytes, members: Members) -> None:
        key = _text(record, members.get(self.key))
        is_about = key is not None and self.person.has_key(key, is_number=self.is_number)
        # The stand-in with a name of theirs is a record whose editing was cut off.
        is_nobody = key is None or key.strip() == str(STAND_IN)
        if is_about:
            quote = b'"' if record[members[self.key][0]] == ord('"') else b""
            _put(content, members[self.key], quote + str(STAND_IN).encode() + quote)
        for name in self.names:
            value = _text(record, members.get(name))
            if value is not None and (is_about or (is_nobody and value in self.person.names)):
                first, last = members[name]
                _put(content, members[name], _NULL if last - first >= len(_NULL) else _EMPTY)

    def _is_usable(self, record: bytes) -> bool:
        try:
            self.decoder.decode(record)
        except RejectedRecordError:
            return False
        return True


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
    """A name as it may stand in JSON: as it is, and with what is not ASCII escaped, by small or large letters."""
    escaped = json.dumps(name)[1:-1]
    large = re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match.group()[2:].upper(), escaped)
    return name.encode(), json.dumps(name, ensure_ascii=False)[1:-1].encode(), escaped.encode(), large.encode()
