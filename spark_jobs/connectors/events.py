"""What change events say, by their connector: the place of a change in its source's own order, as text that sorts.

A place is fixed-width hexadecimal. Real events tie on it (snapshot rows share one place), so an event's order ends in
what belongs to the change itself (:mod:`spark_jobs.sources.envelope`). Places of one stream can be compared: of one
server, and of one database where each has a log of its own (:mod:`spark_jobs.lake_spec.origins`).
"""

from __future__ import annotations

from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError

_MOST_DIGITS = len(str(2**64))


class Connector:
    """What is known of a connector's events; of this class itself: those of an unknown connector.

    ``source`` is the source block of an event, ``payload`` its payload.
    """

    name = ""
    place_field = ""
    """The field of the source block without which a change has no place; "": changes are ordered by time."""
    transaction_field = ""
    """The field with the source's own name of the transaction."""
    is_log_of_server = False
    """All databases of a server have one log, and are schemas; else each database has a log of its own."""
    rises_by_commit = False
    """Marks rise in the order of commits, so that the event with the highest one is the newest."""

    def table_of(self, source: dict[str, Any]) -> tuple[str, str]:
        """Schema (where databases are schemas: database) and table."""
        schema = source.get("db" if self.is_log_of_server else "schema", "")
        return str(schema), str(source.get("table", ""))

    def position_of(self, source: dict[str, Any], payload: dict[str, Any]) -> str:
        """The place of a change; RejectedRecordError when it has none.

        A change without a place of a connector that has places is not ordered by time: that would be above all of them.
        """
        if self.place_field and source.get(self.place_field) is None:
            raise RejectedRecordError(
                Reason.MISSING_POSITION, f"source.{self.place_field} is missing in a change of {self.name}"
            )
        return self._place(source, payload)

    def mark_of(self, source: dict[str, Any], position: str) -> str:
        """What rises with the commits of a stream, to notice positions that begin again."""
        return position

    def identity_of(self, source: dict[str, Any]) -> str:
        """The server that wrote a change, as far as its connector names it."""
        return ""

    def _place(self, source: dict[str, Any], payload: dict[str, Any]) -> str:
        moment = source.get("ts_ms")
        return hexadecimal(payload.get("ts_ms") if moment is None else moment, "ts_ms")


def count(value: Any, name: str) -> int:
    """A number of 32 bits; RejectedRecordError, which names the field, when it is none."""
    if type(value) is not int or not 0 <= value < 2**32:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{name} is not a count")
    return value


def hexadecimal(value: Any, name: str) -> str:
    """A number of 64 bits, or its digits, as 16 hexadecimal digits; RejectedRecordError when it is none."""
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and value.isascii() and value.isdigit():
        value = int(value)
    if type(value) is not int or not 0 <= value < 2**64:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{name} gives no place in the order of events")
    return f"{value:016x}"
