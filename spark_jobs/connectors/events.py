"""What change events say, by their connector: the place of a change in its source's own order, as text that sorts.

A place is fixed-width hexadecimal. Real events tie on it (snapshot rows share one place), so an event's order ends in
what belongs to the change itself (:mod:`spark_jobs.sources.envelope`). Places of one stream can be compared: of one
server, and of one database where each has a log of its own (:mod:`spark_jobs.lake_spec.origins`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError

Blocks = Mapping[str, Sequence[Any]]
"""Source blocks with the same fields: the values of each, in the order of the changes."""
_WHOLE_OR_NONE = frozenset({int, type(None)})
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

    def places_of(self, blocks: Blocks) -> list[str] | None:
        """:meth:`position_of` of many changes; None when one of them has to be looked at by itself."""
        return None

    def marks_of(self, blocks: Blocks, places: list[str]) -> list[str]:
        """:meth:`mark_of` of many changes, given their places."""
        return places

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


def counts(values: Sequence[Any]) -> list[int] | None:
    """Numbers of 32 bits, 0 for null; None when one of them is something else."""
    if not {*map(type, values)} <= _WHOLE_OR_NONE:
        return None
    numbers = [value or 0 for value in values]
    return numbers if min(numbers) >= 0 and max(numbers) < 2**32 else None


def numbers_of(values: Sequence[Any]) -> Sequence[int] | None:
    """Numbers of 64 bits; None when one of them is something else."""
    return values if {*map(type, values)} == {int} and min(values) >= 0 and max(values) < 2**64 else None


def hexadecimal(value: Any, name: str) -> str:
    """A number of 64 bits, or its digits, as 16 hexadecimal digits; RejectedRecordError when it is none."""
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and value.isascii() and value.isdigit():
        value = int(value)
    if type(value) is not int or not 0 <= value < 2**64:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{name} gives no place in the order of events")
    return f"{value:016x}"
