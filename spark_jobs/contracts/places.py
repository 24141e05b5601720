"""Places of the entries of a document, so that a mistake can be reported with its file and line."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.names import show_path

Steps = tuple[Any, ...]
"""The way from an entry to something in it: names of entries and numbers of items, outermost first."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DocumentPlace:
    """A line of a file; lines count from 1."""

    file: str
    line: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", os.path.normpath(self.file))

    def __str__(self) -> str:
        return f"{show_path(self.file)}:{self.line}"


class Entries(dict[Any, Any]):
    """A mapping that knows its own place and that of each of its names; one that code made has no places.

    For all other code it is a dict, so that only the readers of files have to know of places.
    """

    def __init__(
        self,
        values: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
        place: DocumentPlace | None = None,
        places: Mapping[Any, DocumentPlace] | None = None,
    ) -> None:
        super().__init__(values)
        self.place = place
        self.places = dict(places or {})

    def having(self, values: Mapping[Any, Any]) -> Entries:
        """The same with other values, or more of them; known places are kept."""
        return Entries({**self, **values}, self.place, self.places)

    def holding(self, name: Any, value: Entries | Items) -> Entries:
        """The same with a value that has a place of its own."""
        places = {name: value.place} if value.place else {}
        return Entries({**self, name: value}, self.place, {**self.places, **places})

    def without(self, *names: Any) -> Entries:
        """The same but for some names, whose places are kept."""
        return Entries({name: value for name, value in self.items() if name not in names}, self.place, self.places)


class Items(list[Any]):
    """A list that knows its own place and where each of its items begins."""

    def __init__(
        self,
        values: Iterable[Any] = (),
        place: DocumentPlace | None = None,
        places: Mapping[int, DocumentPlace] | None = None,
    ) -> None:
        super().__init__(values)
        self.place = place
        self.places = dict(places or {})


def lines_of(text: str, file: str) -> Items:
    """The lines of a text, each by its own number."""
    lines = ["", *text.splitlines()]
    return Items(
        lines,
        DocumentPlace(file=file),
        {number: DocumentPlace(file=file, line=number) for number in range(1, len(lines))},
    )


def find_place(entry: Any, steps: Steps) -> DocumentPlace | None:
    """The place of the last of these steps that has one, else that of the entry; None for what code made."""
    place: DocumentPlace | None = getattr(entry, "place", None)
    for step in steps:
        if not isinstance(entry, Entries | Items) or step not in entry.places:
            break
        place, entry = entry.places[step], entry[step]
    return place
