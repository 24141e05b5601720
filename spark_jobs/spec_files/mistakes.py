"""Mistakes in documents are collected entry by entry, so that a person sees all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from spark_jobs.contracts.errors import ContractError, LakehouseError, raise_all
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.names import show_path
from spark_jobs.contracts.places import DocumentPlace, Entries, Items, Steps, find_place

Made = TypeVar("Made")


class Mistakes:
    """Errors that were found so far, each with its place where one is known.

    What could not be read is remembered by its kind and name: that something else refers to it is then no mistake.
    """

    def __init__(self) -> None:
        self.errors: list[LakehouseError] = []
        self._unread: set[tuple[str, str | None]] = set()

    def of(self, entry: Any = None, *, lost: str = "") -> _Attempt:
        """A context: whatever is refused inside is kept, with its place in ``entry``; the work goes on behind it.

        ``lost`` is a kind of which anything may be there, unread, when something was refused.
        """
        return _Attempt(self, entry, lost, ContractError)

    def of_file(self, entry: Any = None, *steps: Any, lost: str = "") -> _Attempt:
        """The same for files, which may also be such as cannot be read; the entry that names them is at ``steps``."""
        return _Attempt(self, entry, lost, LakehouseError, steps)

    def add(self, error: LakehouseError, entry: Any = None, steps: Steps = ()) -> None:
        """Keep an error, or each of several, but for those about something that is there and could not be read."""
        if not isinstance(error, ContractError):
            error.place = error.place or find_place(entry, steps)
            self.errors.append(error)
            return
        for each in error.each:
            each.place = each.place or find_place(entry, (*steps, *each.at))
            if not (each.lacks and self.is_unread(*each.lacks)):
                self.errors.append(each)

    def each(self, kind: str, items: Iterable[Any], make: Callable[[Any], Made]) -> tuple[tuple[Made, ...], Items]:
        """What can be made of the items, each on its own, and the items that it was made of.

        An item with mistakes is made without what is wrong in it, where that is possible, so that the rest of it is
        looked at too.
        """
        made, kept = [], Items(place=getattr(items, "place", None))
        for number, item in enumerate(items):
            try:
                made.append(make(item))
            except ContractError as error:
                wrong = {each.at[0] for each in error.each if each.at}
                self.add(error.inside(number), items)
                try:
                    made.append(make(_without(item, wrong)))
                except ContractError:
                    self.leave_out(kind, item.get("name") if isinstance(item, Mapping) else None)
                    continue
            if place := find_place(items, (number,)):
                kept.places[len(kept)] = place
            kept.append(item)
        return tuple(made), kept

    def forget(self, names: Collection[str]) -> None:
        """Take back what was found of fields that are there under names that are misspelt, and reported as such."""
        self.errors = [
            e for e in self.errors if not (isinstance(e, ContractError) and e.at[:1] in {(n,) for n in names})
        ]

    def leave_out(self, kind: str, name: Any = None) -> None:
        """Something is there that cannot be read; without a name that can be used, it could be any of its kind."""
        self._unread.add((kind, name if is_identifier(name) else None))

    def is_unread(self, kind: str, name: str | None = None) -> bool:
        """True for something that may be there and could not be read; without a name, for anything of the kind."""
        names = {unread for of_kind, unread in self._unread if of_kind == kind}
        return bool(names) if name is None else not names.isdisjoint({name, None})

    def checked(self, made: Made | None, what: str = "", file: str = "") -> Made:
        """What was made, when nothing was found to be wrong; ``what`` is the kind of the requested ``file``.

        Raises:
            ContractError: with ``each`` that was found and its place.
            SettingsError: the first of a file that cannot be read.
        """
        raise_all(_placed(error, what, file) for error in self.errors)
        if made is None:
            raise ContractError(f"nothing could be read of {what} {show_path(file)}; look at the file")
        return made


class _Attempt:
    """Keeps what is refused inside."""

    def __init__(self, found: Mistakes, entry: Any, lost: str, kept: type[LakehouseError], steps: Steps = ()) -> None:
        self._found, self._entry, self._lost, self._kept, self._steps = found, entry, lost, kept, steps

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, self._kept):
            return False
        self._found.add(error, self._entry, self._steps)
        if self._lost:
            self._found.leave_out(self._lost)
        return True


def placed_text(error: LakehouseError) -> str:
    """An error with its place before it, where it has one."""
    return f"{error.place}: {error}" if error.place else str(error)


def _without(item: Any, names: set[Any]) -> Any:
    is_entry = isinstance(item, Mapping)
    return Entries({name: value for name, value in item.items() if name not in names}) if is_entry else item


def _placed(error: LakehouseError, what: str, file: str) -> LakehouseError:
    if not isinstance(error, ContractError):
        return error
    is_elsewhere = file and (error.place is None or error.place.file != DocumentPlace(file=file).file)
    words = [what] * bool(what) + [f"{show_path(file)}:"] * bool(is_elsewhere)
    placed = ContractError(" ".join([*words, placed_text(error)]), at=error.at, lacks=error.lacks)
    placed.place = error.place
    return placed
