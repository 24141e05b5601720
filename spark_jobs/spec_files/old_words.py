"""Words of lake specs that have newer forms: read for one more release, with a notice that shows the new form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spark_jobs.contracts.names import plain
from spark_jobs.contracts.places import DocumentPlace, Entries, Items, find_place
from spark_jobs.spec_files.documents import mapping, sequence
from spark_jobs.spec_files.mistakes import Mistakes

_DELETES = {"soft": "tombstone", "hard": "remove"}
_OF_LOADS = ("operation", "columns", "keep_days")
"""Words of a load that are inside ``load`` now; the others are words of every table."""


def gather_tables(document: Entries, found: Mistakes) -> tuple[Items, tuple[str, ...]]:
    """The entries of all tables in today's form, and a notice for each old word.

    ``mirrors`` and ``loads`` are lists beside ``tables`` in older files. Everything keeps its place.
    """
    gathered = Items(place=document.places.get("tables", document.place))
    notices = list[str]()
    for word in ("tables", "mirrors", "loads"):
        with found.of(document, lost="tables"):
            listed = sequence(document.get(word, []), word, at=(word,))
            if word != "tables" and word in document:
                notices.append(_notice(document.places.get(word), _LISTS[word]))
            for number, item in enumerate(listed):
                entry = mapping(item, "a table") if isinstance(item, dict) else item
                if place := find_place(listed, (number,)):
                    gathered.places[len(gathered)] = place
                gathered.append(_todays(entry, word, notices) if isinstance(entry, Entries) else entry)
    return gathered, tuple(notices)


_LISTS = {
    "mirrors": "mirrors is an old word; list them below tables, with from: {database: …, table: …}",
    "loads": "loads is an old word; list them below tables, with load: {operation: …, columns: […]}",
}


def _todays(entry: Entries, word: str, notices: list[str]) -> Entries:
    """One entry with the words of today."""
    values, places = dict(entry), dict(entry.places)
    for old, new, value, notice in _changes(entry, word):
        place = places.get(old)
        values.pop(old, None)
        values[new] = value
        if place:
            places[new] = place
        if notice:
            notices.append(_notice(place, notice))
    return Entries(values, entry.place, places)


def _changes(entry: Entries, word: str) -> Iterator[tuple[str, str, Any, str]]:
    """Old word, new word, its value, and a notice where the list that the entry is in has none."""
    if word == "tables":
        if "follows_deletes" in entry and isinstance(entry["follows_deletes"], bool):
            deletes = "tombstone" if entry["follows_deletes"] else "ignore"
            name = plain(entry.get("name"))
            notice = f"table {name}: follows_deletes is an old word; write deletes: {deletes}"
            yield "follows_deletes", "deletes", deletes, notice
    elif word == "mirrors":
        inside = _inside(entry, ("database", "table"))
        yield "database", "from", inside, ""
        yield "table", "from", inside, ""
        if "columns" in entry:
            yield "columns", "declare", entry["columns"], ""
        if entry.get("deletes") in _DELETES:
            yield "deletes", "deletes", _DELETES[entry["deletes"]], ""
    else:
        inside = _inside(entry, _OF_LOADS)
        for name in [*inside] or ["load"]:
            yield name, "load", inside, ""


def _inside(entry: Entries, names: tuple[str, ...]) -> Entries:
    """Some words of an entry as an entry of their own."""
    places = {name: place for name, place in entry.places.items() if name in names}
    return Entries({name: entry[name] for name in names if name in entry}, entry.place, places)


def _notice(place: DocumentPlace | None, text: str) -> str:
    return f"{place}: {text}" if place else text
