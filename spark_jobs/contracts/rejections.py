"""Why a record cannot be used: the reasons in the quarantine table."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """One word for each way a record can be broken."""

    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    TRUNCATED = "truncated"
    DUPLICATE_KEY = "duplicate_key_in_json"
    TOO_DEEP = "nested_too_deep"
    TOO_LONG = "text_too_long"
    TOO_LARGE = "record_too_large"
    """Its bytes are not kept: ``raw`` is a JSON object of how many there are and their SHA-256."""
    NULL_PAYLOAD = "null_payload"
    NOT_AN_ENVELOPE = "not_an_envelope"
    UNKNOWN_OP = "unknown_op"
    TRUNCATE = "truncate"
    MISSING_KEY = "missing_key"
    MISSING_POSITION = "missing_position"
    BAD_INTEGER = "bad_integer"
    BAD_DECIMAL = "bad_decimal"
    BAD_TIMESTAMP = "bad_timestamp"
    BAD_BOOLEAN = "bad_boolean"
    BAD_TEXT = "bad_text"
    BAD_FILE = "bad_file"
    OTHER_TYPE = "other_type"
    """It can be read, and a column of it has a type that its table cannot take in (docs/schemas.md)."""
    OTHER_ORIGIN = "other_origin"
    """It can be read, and is of another server or database than its table; the detail names it (docs/sources.md)."""
    POSITION_FELL = "position_fell"
    """It can be read, and is later than what is known by its time and earlier by its position (docs/sources.md)."""
    BROKEN_RULE = "broken_rule"
    """It can be read, and breaks an expectation whose action is to set it aside; the detail names it."""
    BROKEN_ROW = "broken_row"
    """A row of a file that was loaded; the detail names the table and one of the reasons above."""


OF_THE_SOURCE = (Reason.OTHER_TYPE, Reason.OTHER_ORIGIN, Reason.POSITION_FELL)
"""Reasons that are the trouble of one table or source, which is reported by itself."""

IGNORED = "ignored"
"""In place of a reason: there is no event, but a blank line, the null by which Kafka marks a deleted key, or what a
connector says of itself, or of a table that the lake does not take; the detail names that."""


class RejectedRecordError(Exception):
    """A record that goes to quarantine; never leaves the decoder."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


class OtherTableError(Exception):
    """An event of a table that the lake does not take; never leaves the decoder."""

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(table)
