"""Hudi's plan of a restore, as its file has it."""

from __future__ import annotations

from collections.abc import Sequence

_SCHEMA = (
    b'{"type":"record","name":"HoodieRestorePlan","namespace":"org.apache.hudi.avro.model","fields":['
    b'{"name":"instantsToRollback","type":{"type":"array","items":{"type":"record","name":"HoodieInstantInfo",'
    b'"fields":[{"name":"commitTime","type":"string"},{"name":"action","type":"string"}]}},"default":[]},'
    b'{"name":"version","type":["int","null"],"default":2},'
    b'{"name":"savepointToRestoreTimestamp","type":["null","string"],"default":null}]}'
)
_SYNC = bytes(range(16))


def restore_plan(instants: Sequence[str], back_to: str, action: str = "deltacommit") -> bytes:
    """An Avro file with one record: instants to be rolled back, in their order, and the one to be restored."""
    record = b""
    if instants:
        record += _long(len(instants)) + b"".join(_text(instant) + _text(action) for instant in instants)
    record += _long(0) + _long(0) + _long(2) + _long(1) + _text(back_to)
    header = b"Obj\x01" + _long(1) + _text("avro.schema") + _long(len(_SCHEMA)) + _SCHEMA + _long(0) + _SYNC
    return header + _long(1) + _long(len(record)) + record + _SYNC


def _text(text: str) -> bytes:
    return _long(len(text)) + text.encode()


def _long(number: int) -> bytes:
    """Zigzag, seven bits a byte."""
    left, found = (number << 1) ^ (number >> 63), b""
    while left > 0x7F:
        found += bytes([left & 0x7F | 0x80])
        left >>= 7
    return found + bytes([left])
