"""A record is what JSON says, to the last digit, and a key given twice is never accepted.

The oracle is ``json.loads`` with every number as it is written. Records are made of members as a source may write them
and as no source should: blanks where JSON has them, escapes, colons and quotes in names and texts, repeated keys.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.sources.records import MAX_DEPTH, MAX_RECORD_BYTES, parse_record

CHARACTERS = ('"', "\\", ":", " ", "{", "}", ",", "a", "b", "é", "🏠", "\x00", "\n", "\u2028")
NAMES = st.text(st.sampled_from(CHARACTERS), max_size=4)
BLANKS = st.sampled_from(("", "", "", "", " ", "\t", "\n", "\r "))
NUMBERS = st.sampled_from(
    ("0", "-0", "7", "1.50", "-0.0", "1E+5", "1e400", "9223372036854775808", "-1180591620717411303424", "0.1", "1e-7")
)
WRITTEN = st.builds(lambda text, is_ascii: json.dumps(text, ensure_ascii=is_ascii), NAMES, st.booleans())
STRINGS = st.one_of(WRITTEN, st.sampled_from(('"a"', '"\\u0061"', '"\\ud800"', '"\\""', '"\\\\"', '":"')))
ODD = st.sampled_from(("NaN", "01", "tru", '"\\x"', "", "'a'", "+1", "1.", '"\x00"', "-"))
LEAVES = st.one_of(NUMBERS, STRINGS, st.sampled_from(("null", "true", "false")))


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(STRINGS, BLANKS, st.just(":"), BLANKS, values).map("".join)
    return st.builds(lambda members, blank: f"{{{blank}{','.join(members)}}}", st.lists(member, max_size=5), BLANKS)


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=4).map(lambda each: f"[{','.join(each)}]")


VALUES = st.recursive(LEAVES, lambda inner: st.one_of(objects(inner), arrays(inner)), max_leaves=12)
RECORDS = objects(st.one_of(VALUES, VALUES, VALUES, ODD))


class TwiceError(Exception):
    """A key is there twice in one object."""


def read_by_oracle(line: bytes) -> Any:
    def refuse(_: str) -> Never:
        raise ValueError

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise TwiceError
        return dict(pairs)

    return json.loads(line.decode(), object_pairs_hook=once, parse_float=Decimal, parse_constant=refuse)


def expected(line: bytes) -> tuple[str, str]:
    try:
        return "read", repr(read_by_oracle(line))
    except TwiceError:
        return "refused", Reason.DUPLICATE_KEY
    except UnicodeDecodeError:
        return "refused", Reason.NOT_UTF8
    except (ValueError, ArithmeticError):
        return "refused", Reason.NOT_JSON


def found(line: bytes) -> tuple[str, str]:
    try:
        return "read", repr(parse_record(line))
    except RejectedRecordError as error:
        return "refused", error.reason


@given(RECORDS)
def test_a_record_is_what_json_says(text: str) -> None:
    """Order of members and types of numbers are part of what ``repr`` shows."""
    line = text.encode()
    assert found(line) == expected(line)


@given(RECORDS, st.integers(min_value=0), st.sampled_from((b"\xff", b"\xed\xa0\x80", b'"', b"\\", b":", b"\x00")))
def test_a_byte_too_many_is_found(text: str, at: int, byte: bytes) -> None:
    line = text.encode()
    place = at % (len(line) + 1)
    line = line[:place] + byte + line[place:]
    assert found(line) == expected(line)


@pytest.mark.parametrize("end", [b"", b"\r", b"  "])
@pytest.mark.parametrize(("more", "reason"), [(-1, ""), (0, ""), (1, Reason.TOO_LONG)])
def test_the_longest_record_is_one_byte_shorter_than_one_that_is_too_long(more: int, reason: str, end: bytes) -> None:
    """Its line end on Windows and blanks behind it count as they are."""
    line = b'{"a":"%s"}' % (b"x" * (MAX_RECORD_BYTES + more - 8 - len(end))) + end
    assert len(line) == MAX_RECORD_BYTES + more
    assert found(line)[0] == ("refused" if reason else "read")
    assert not reason or found(line)[1] == reason


@pytest.mark.parametrize(("more", "is_read"), [(-1, True), (0, True), (1, False), (2, False)])
@pytest.mark.parametrize(("left", "right"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[0,{"b":[],"a":', b"}]")])
def test_the_deepest_record_has_one_level_less_than_one_that_is_too_deep(more, is_read, left, right) -> None:
    levels = MAX_DEPTH + more - 1  # the record itself is one
    depth, odd = divmod(levels, 2) if left.startswith(b"[0") else (levels, 0)
    line = b'{"a":' + left * depth + b"[]" * odd + b"1" * (1 - odd) + right * depth + b"}"
    assert found(line)[0] == ("read" if is_read else "refused")
    assert is_read or found(line)[1] == Reason.TOO_DEEP


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1,"a":2}',
        b'{"a":1,"a" :2}',
        b'{"a":1,"a":":"}',
        b'{"a":{"b":1,"b":2},"c":":x"}',
        b'{"b\\\\":0,"a":1,"a":2}',
        b'{"a":1,"\\u0061":2,"b":"\\":"}',
        b'{"a":[{"b":1},{"b":1,"b":1}]}',
    ],
)
def test_a_key_given_twice_is_refused_however_it_hides(line: bytes) -> None:
    assert found(line) == ("refused", Reason.DUPLICATE_KEY)
