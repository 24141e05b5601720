"""Checks of the lake's tables: ``<folder>/<table>.sql``, several SELECTs each, whose rows are what breaks a rule.

One text for every engine, as views are. A check gives the keys of the rows that break it and never the name of a
person: its answer is printed and kept in logs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sql_analysis.mart_sql_text import fill_time_zone
from spark_jobs.sql_analysis.portable_sql import names_read, parse_portable

if TYPE_CHECKING:
    from sqlglot import exp

_HEADING = re.compile(r"^--[ \t]*check:[ \t]*(?P<name>.*?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^--[ \t]?(?P<words>.*)$")
CHECK_ID, ROWS_COUNT = "check_id", "check_rows"
"""Columns of :func:`count_sql`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpec:
    """One rule of a table: ``text`` gives a row, with these ``keys``, for whatever breaks it."""

    table: str
    name: str
    description: str
    text: str
    keys: tuple[str, ...]
    reads: frozenset[str]

    @property
    def id(self) -> str:
        """What it is called among all checks."""
        return f"{self.table}.{self.name}"

    def sample_sql(self, rows: int) -> str:
        """The first rows that it gives, in the order of their keys."""
        order = ", ".join(str(place) for place in range(1, len(self.keys) + 1))
        return "\n".join(("SELECT * FROM (", self.text, f") AS broken ORDER BY {order} LIMIT {rows}"))


def count_sql(checks: Sequence[CheckSpec]) -> str:
    """How many rows each of them gives, in one query: a row each with ``CHECK_ID`` and ``ROWS_COUNT``."""
    columns = {check: f"'{check.id}' AS {CHECK_ID}, COUNT(*) AS {ROWS_COUNT}" for check in checks}
    selects = ("\n".join(("SELECT", listed, "FROM (", check.text, ") AS broken")) for check, listed in columns.items())
    return "\nUNION ALL\n".join(selects)


def load_checks(folder: Path, spec: LakeSpec, tables: Collection[str] = ()) -> tuple[CheckSpec, ...]:
    """The checks of these tables (of all when none are named), table by table as the lake spec has them.

    Raises:
        ContractError: a file is of no table of the lake or cannot be used; a requested table has no checks.
    """
    files = {file.stem: file for file in sorted(folder.glob("*.sql"))}
    if strangers := [file for name, file in files.items() if name not in spec.table_names]:
        raise ContractError(
            f"{show_path(strangers[0])}: lake {spec.lake} has no table of this name; rename the file, or give the lake "
            f"its own folder (LAKEHOUSE_CHECKS_PATH)"
        )
    if lacking := sorted(set(tables) - files.keys()):
        raise ContractError(f"no checks for {show(lacking[0])}; there are some for {', '.join(files)}")
    chosen = [name for name in spec.table_names if name in files and (not tables or name in tables)]
    return tuple(check for name in chosen for check in read_checks(files[name], spec))


def read_checks(file: Path, spec: LakeSpec) -> tuple[CheckSpec, ...]:
    """The checks in one file; ContractError with its name, and the check's, when one of them cannot be used."""
    checks: dict[str, CheckSpec] = {}
    for name, body in _sections(file):
        try:
            check_identifier(name, "check")
            if name in checks:
                raise ContractError("there are two of this name; rename one")
            checks[name] = _check(file.stem, name, body, spec)
        except ContractError as error:
            raise ContractError(f"{show_path(file)}: {plain(name)}: {error}") from error
    return tuple(checks.values())


def _sections(file: Path) -> Iterator[tuple[str, str]]:
    """Each check's name, and the text below its heading."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ContractError(f"{show_path(file)} is not text in UTF-8 ({plain(error)}); correct it") from error
    headings = list(_HEADING.finditer(text))
    before = text[: headings[0].start()] if headings else text
    if not headings or any(line.strip() and not _COMMENT.match(line) for line in before.splitlines()):
        raise ContractError(f"{show_path(file)}: each SELECT needs a line '-- check: name' above it")
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        yield heading["name"], text[heading.end() : following.start() if following else len(text)]


def _check(table: str, name: str, body: str, spec: LakeSpec) -> CheckSpec:
    query = parse_portable(body, what="a check")
    reads = names_read(query)
    if unknown := sorted(reads - set(spec.table_names) | reads & {spec.quarantine}):
        raise ContractError(f"it reads {plain(unknown[0])}, which is no table that readers of lake {spec.lake} see")
    if table not in reads:
        raise ContractError(f"it does not read {table}; put it into the file of a table that it reads")
    people = frozenset[str]().union(*(columns_of_people(spec, name) for name in reads))
    return CheckSpec(
        table=table,
        name=name,
        description=" ".join(_description(body)),
        text=fill_time_zone(body, "UTC"),
        keys=_keys(query, people),
        reads=reads,
    )


def _description(body: str) -> Iterator[str]:
    """The comment right below the heading."""
    for line in body.strip().splitlines():
        if not (comment := _COMMENT.match(line)):
            return
        yield comment["words"].strip()


def _keys(query: exp.Query, people: Collection[str]) -> tuple[str, ...]:
    """Names of the columns it gives; ContractError when one has none, or may hold a person's name."""
    from sqlglot import exp

    for select in query.find_all(exp.Select):
        for column in select.expressions:
            if column.is_star:
                raise ContractError("it selects *; name the columns, the keys of what breaks the rule")
            if named := sorted({each.name.lower() for each in column.find_all(exp.Column)} & set(people)):
                raise ContractError(f"it selects {named[0]}, which names people; select their keys")
    names = tuple(column.output_name for column in query.selects)
    if not all(names) or len(set(names)) != len(names):
        raise ContractError("each of its columns needs a name of its own (AS)")
    return names
