"""Comments of columns in a document: a mapping of their names to one line each."""

from __future__ import annotations

from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Entries
from spark_jobs.spec_files.documents import section
from spark_jobs.spec_files.mistakes import Mistakes


def read_comments(entry: Entries, found: Mistakes, what: str) -> dict[str, Any]:
    """The field ``comments`` of what the entry is about, if it has some; mistakes go to ``found``."""
    if "comments" not in entry:
        return {}
    texts = list[tuple[str, str]]()
    with found.of(entry):
        named = section(entry, "comments", f"{what}: comments")
        for column, text in named.items():
            with found.of(entry):
                if not (isinstance(column, str) and isinstance(text, str)):
                    raise ContractError(
                        f"{what}: comments: {show(column)} is {show(text)}; give a text", at=("comments", column)
                    )
                texts.append((column, text))
    return {"comments": tuple(texts)}
