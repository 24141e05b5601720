"""Records that cannot be used, one for each of some eighty ways of being broken, with their reason in quarantine.

Each is made from a good change of sale ``key``, so that different keys give different records.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.support.envelopes import Envelope, line, sqlserver, wrapped

POSITION = 900_000


def good(key: int, **changes: object) -> Envelope:
    """An ordinary new sale with some columns changed; None takes a column away."""
    row = {"SaleId": key, "UnitId": 1, "UnitName": "unit 1", "ContractSubtotal": "10.5000", **changes}
    return sqlserver("c", {name: value for name, value in row.items() if value is not None}, POSITION + key)


def source_with(key: int, **changes: object) -> Envelope:
    """The same with a changed source block."""
    record = good(key)
    return {**record, "source": {**record["source"], **changes}}


def nested(key: int, levels: int) -> bytes:
    """A good record with lists inside lists in an unknown field."""
    return line(good(key))[:-1] + b',"extra":' + b"[" * levels + b"]" * levels + b"}"


def twice(key: int) -> bytes:
    """A row image that names one column twice."""
    return line(good(key)).replace(b'"UnitId":1', b'"UnitId":1,"UnitId":2')


BROKEN: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "not json": ("not_json", lambda key: b"sale %d was sold" % key),
    "half a record": ("not_json", lambda key: line(good(key))[:-20]),
    "not a number": ("not_json", lambda key: line(good(key)).replace(b'"10.5000"', b"NaN")),
    "a power that nothing holds": (
        "not_json",
        lambda key: line(good(key)).replace(b'"10.5000"', b"1e999999999999999999999"),
    ),
    "bad utf-8": ("not_utf8", lambda key: line(good(key)).replace(b"unit 1", b"unit \xff\xfe")),
    "half a surrogate pair": ("not_utf8", lambda key: line(good(key)).replace(b"unit 1", b"\\ud83d")),
    "duplicate keys": ("duplicate_key_in_json", twice),
    "deep": ("nested_too_deep", lambda key: nested(key, 40)),
    "very deep": ("nested_too_deep", lambda key: nested(key, 100_000)),
    "1 MB of text": ("text_too_long", lambda key: line(good(key, UnitName="x" * 1024 * 1024))),
    "long text": ("text_too_long", lambda key: line(good(key, UnitName="x" * 4001))),
    "null payload": ("null_payload", lambda key: line({"schema": {"optional": key}, "payload": None})),
    "no row image": ("null_payload", lambda key: line({**good(key), "after": None})),
    "delete without before": ("null_payload", lambda key: line({**good(key), "op": "d"})),
    "a list": ("not_an_envelope", lambda key: b"[%d]" % key),
    "a number": ("not_an_envelope", lambda key: b"%d" % key),
    "payload is text": ("not_an_envelope", lambda key: line({"payload": f"sale {key}"})),
    "no source block": ("not_an_envelope", lambda key: line({**good(key), "source": None})),
    "row image is text": ("not_an_envelope", lambda key: line({**good(key), "after": f"sale {key}"})),
    "unknown op": ("unknown_op", lambda key: line({**good(key), "op": "x"})),
    "truncate": ("truncate", lambda key: line({**good(key), "op": "t"})),
    "no op": ("unknown_op", lambda key: line({"hello": key})),
    "op is a list": ("unknown_op", lambda key: line({**good(key), "op": ["c"]})),
    "no key": ("missing_key", lambda key: line(good(key, SaleId=None, AgentId=key))),
    "null key": ("missing_key", lambda key: line({**good(key), "after": {"SaleId": None, "UnitId": key}})),
    "key is text": ("bad_integer", lambda key: line(good(key, SaleId="seven"))),
    "key is true": ("bad_integer", lambda key: line(good(key, SaleId=True))),
    "id past 64 bits": ("bad_integer", lambda key: line(good(key, UnitId=2**63))),
    "id with a fraction": ("bad_integer", lambda key: line(good(key, UnitId=1.5))),
    "decimal too large": ("bad_decimal", lambda key: line(good(key, ContractSubtotal="100000000000000.0000"))),
    "decimal too fine": ("bad_decimal", lambda key: line(good(key, ContractSubtotal="0.00001"))),
    "decimal is text": ("bad_decimal", lambda key: line(good(key, ContractSubtotal="ten"))),
    "decimal is infinite": ("bad_decimal", lambda key: line(good(key, ContractSubtotal="Infinity"))),
    "decimal without its scale": (
        "bad_decimal",
        lambda key: line(good(key, ContractSubtotal={"scale": "few", "value": "Bg=="})),
    ),
    "binlog file is none": (
        "missing_position",
        lambda key: line(source_with(key, connector="mysql", file="binlog", pos=key)),
    ),
    "binlog without a place": (
        "missing_position",
        lambda key: line(source_with(key, connector="mariadb", file="mariadb-bin.000001", pos=None)),
    ),
    "decimal is a huge power": ("bad_decimal", lambda key: line(good(key, ContractSubtotal="1E+999999"))),
    "date past year 9999": ("bad_timestamp", lambda key: line(good(key, ContractSigningDate=10**15))),
    "date is text": ("bad_timestamp", lambda key: line(good(key, ContractSigningDate="soon"))),
    "date is an object": ("bad_timestamp", lambda key: line(good(key, ContractSigningDate={"year": 2026}))),
    "name is a number": ("bad_text", lambda key: line(good(key, UnitName=7))),
    "lsn is text": ("missing_position", lambda key: line(source_with(key, commit_lsn="first"))),
    "serial below zero": ("missing_position", lambda key: line(source_with(key, event_serial_no=-1))),
    "no time but that of sending": ("bad_timestamp", lambda key: line(source_with(key, ts_ms=None))),
    "wrapped without op": ("unknown_op", lambda key: line(wrapped({**good(key), "op": None}))),
    "a text": ("not_an_envelope", lambda key: b'"sale %d"' % key),
    "a comma too many": ("not_json", lambda key: line(good(key))[:-1] + b",}"),
    "two records": ("not_json", lambda key: line(good(key)) * 2),
    "a comment": ("not_json", lambda key: b"/* new */" + line(good(key))),
    "other quotes": ("not_json", lambda key: line(good(key)).replace(b'"', b"'")),
    "a control character": ("not_json", lambda key: line(good(key)).replace(b"unit 1", b"unit \x01")),
    "a byte order mark": ("not_json", lambda key: b"\xef\xbb\xbf" + line(good(key))),
    "utf-16": ("not_utf8", lambda key: line(good(key)).decode().encode("utf-16")),
    "overlong utf-8": ("not_utf8", lambda key: line(good(key)).replace(b"unit 1", b"unit \xc0\xaf")),
    "two connectors": (
        "duplicate_key_in_json",
        lambda key: line(good(key)).replace(b'"connector":', b'"connector":"mysql","connector":'),
    ),
    "source is a list": ("not_an_envelope", lambda key: line({**good(key), "source": [key]})),
    "payload is a list": ("not_an_envelope", lambda key: line({"payload": [key]})),
    "row image is a number": ("not_an_envelope", lambda key: line({**good(key), "after": key})),
    "server is no name": ("not_an_envelope", lambda key: line(source_with(key, name="erp\n"))),
    "op in capitals": ("unknown_op", lambda key: line({**good(key), "op": "C"})),
    "op is empty": ("unknown_op", lambda key: line({**good(key), "op": ""})),
    "key is a list": ("bad_integer", lambda key: line(good(key, SaleId=[key]))),
    "id in hexadecimal": ("bad_integer", lambda key: line(good(key, UnitId="0x10"))),
    "id between blanks": ("bad_integer", lambda key: line(good(key, UnitId=" 7 "))),
    "id in other digits": ("bad_integer", lambda key: line(good(key, UnitId="\u0667"))),
    "id below 64 bits": ("bad_integer", lambda key: line(good(key, UnitId=-(2**63) - 1))),
    "decimal is true": ("bad_decimal", lambda key: line(good(key, ContractSubtotal=True))),
    "decimal with a comma": ("bad_decimal", lambda key: line(good(key, ContractSubtotal="10,50"))),
    "decimal is empty": ("bad_decimal", lambda key: line(good(key, ContractSubtotal=""))),
    "decimal is a list": ("bad_decimal", lambda key: line(good(key, ContractSubtotal=[1]))),
    "date before year 1": ("bad_timestamp", lambda key: line(good(key, ContractSigningDate=-(10**17)))),
    "date is true": ("bad_timestamp", lambda key: line(good(key, ContractSigningDate=True))),
    "date in month 13": ("bad_timestamp", lambda key: line(good(key, ContractSigningDate="2026-13-01T00:00:00Z"))),
    "name is a list": ("bad_text", lambda key: line(good(key, UnitName=["unit 1"]))),
    "lsn is short": ("missing_position", lambda key: line(source_with(key, commit_lsn="00000027:0001"))),
    "no lsn": ("missing_position", lambda key: line(source_with(key, commit_lsn=None))),
    "serial is text": ("missing_position", lambda key: line(source_with(key, event_serial_no="one"))),
    "lsn below zero": ("missing_position", lambda key: line(source_with(key, connector="postgresql", lsn=-1))),
    "time is text": ("bad_timestamp", lambda key: line(source_with(key, ts_ms="now"))),
    "time past year 9999": ("bad_timestamp", lambda key: line(source_with(key, ts_ms=10**15))),
}


def every_broken_record(first_key: int = 1) -> dict[bytes, str]:
    """One record of each kind, with its reason."""
    return {make(first_key + n): reason for n, (reason, make) in enumerate(BROKEN.values())}
