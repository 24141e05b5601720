"""What a lake, a table, a load or a mart is for people: entries that decide no row.

They are shown by the docs of the lake and by catalogs. Changing one changes no definition: nothing is planned, and no
row is written again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show

MOST_COMMENT = 255
"""Characters of a column's comment, and of an owner: what a catalog takes."""
_MOST_DESCRIPTION = 1500
"""Catalogs take 2,048, with a sentence of our own."""
_TAG = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,62}")
DESCRIBING = ("description", "owner", "tags", "comments")


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The entries. ``comments`` are those of columns by their names in the lake."""

    description: str = field(default="", compare=False)
    owner: str = field(default="", compare=False)
    """Who answers for it: a team, a person, an address."""
    tags: tuple[str, ...] = field(default=(), compare=False)
    comments: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def mistakes_of_description(self, what: str) -> Iterator[ContractError]:
        """What is wrong with the entries of ``what``, such as ``table units``."""
        if len(self.description) > _MOST_DESCRIPTION or not self.description.replace("\n", " ").isprintable():
            yield ContractError(
                f"{what}: description has more than {_MOST_DESCRIPTION} characters, or some that cannot be printed; "
                f"shorten it",
                at=("description",),
            )
        if not is_one_line(self.owner):
            yield ContractError(
                f"{what}: owner {show(self.owner)} is not one line of at most {MOST_COMMENT} characters; shorten it",
                at=("owner",),
            )
        for number, tag in enumerate(self.tags):
            if not _TAG.fullmatch(tag):
                yield ContractError(
                    f"{what}: tag {show(tag)} has other characters than a-z, 0-9, '_', '.', ':' and '-', or more than "
                    f"63; rename it",
                    at=("tags", number),
                )
        for column, text in self.comments:
            if not is_one_line(text):
                yield ContractError(
                    f"{what}: the comment of {show(column)} is not one line of at most {MOST_COMMENT} characters; "
                    f"shorten it",
                    at=("comments", column),
                )

    def mistakes_of_comments(self, what: str, columns: Collection[str]) -> Iterator[ContractError]:
        """Comments of columns that are none of ``columns``, which are all that it has."""
        for column, _ in self.comments:
            if column not in columns:
                yield ContractError(
                    f"{what}: comments names {show(column)}, none of its columns; {one_of(column, columns)}",
                    at=("comments", column),
                )

    def comments_elsewhere(self, what: str, place: str) -> Iterator[ContractError]:
        """Comments of something whose columns are declared one by one, each with its ``comment``."""
        if self.comments:
            yield ContractError(
                f"{what}: comments is for columns that no entry declares; write comment beside the column's type, "
                f"below {place}",
                at=("comments",),
            )


def is_one_line(text: str) -> bool:
    """Whether a catalog takes it as a comment."""
    return text.isprintable() and len(text) <= MOST_COMMENT
