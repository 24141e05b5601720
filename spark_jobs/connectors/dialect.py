"""The SQL by which a database is read: names, lists of columns, and how each type of value becomes text.

Every query is a SELECT that can be put in parentheses, because Spark wraps each in a query of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import ColumnKind, JdbcColumn

Form = tuple[ColumnKind, str, str, str]
"""A kind, the SQL before and behind a value that makes a text of it, and its type in events where the kind has none."""
Query = Callable[..., Sequence[Mapping[str, Any]]]
"""Runs a query, and gives its rows; with ``session_init`` its session runs that first."""


def forms(kind: ColumnKind, names: str, before: str, behind: str, type_: str = "") -> dict[str, Form]:
    """The same form for several types of a database, their names with commas between."""
    return {name.strip(): (kind, before, behind, type_) for name in names.split(",")}


def select(what: Sequence[str], table: str) -> str:
    """A query of a whole table; ``what`` and ``table`` are SQL already."""
    return " ".join(("SELECT", ", ".join(what), "FROM", table))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """The SQL of a database, and how its driver is called. A module of this package makes one.

    Attributes:
        name: what messages call it.
        schemes: of its JDBC URLs, such as ``postgresql`` in ``jdbc:postgresql://``.
        connection_types: Airflow's types of connections that are one, each with its scheme.
        example: a URL as people give it.
        driver: the class of its driver.
        waits: what the driver calls its timeouts, and how many of their units are a second. By default drivers wait
            for ever for a server that was reached and is silent.
        separators: what comes before the first parameter of its URLs, and before each other one.
        database_parameter: the parameter that names the database; "" where it is part of the path.
        driver_scheme: the scheme that Spark and the driver need, where people give another one.
        driver_parameter: a parameter that the driver needs in every URL.
        quotes: the characters around a name; the right one is doubled within.
        forms: by the name of a type, the kind of its values and their text; other types are not read.
        columns_sql: selects place, name, type and digits of columns, up to the schema's name.
        table_column: what that query calls the column with the table's name.
        primary_key_sql: selects place and name of a primary key's columns, with ``{schema}`` and ``{name}``.
        count: the function that counts all rows.
        session_init: what every session begins with.
        is_wall_clock: moments are compared as the session's wall clock has them.
        database_sql: selects ``db``, the name of the database; "" where databases are schemas.
        read_position: reads connector, database, table and position, as the source block of a snapshot's events has
            them. What it must be: every change below it is in what is read afterwards, and no other event has it: it is
            just below the place that the log grows at. SettingsError: the database has no position, or refuses to
            give it; TransientError: transactions that had begun before do not end.
    """

    name: str
    schemes: tuple[str, ...]
    connection_types: Mapping[str, str]
    example: str
    driver: str
    waits: Mapping[str, int]
    quotes: tuple[str, str]
    forms: Mapping[str, Form]
    columns_sql: str
    primary_key_sql: str
    read_position: Callable[[SourceTable, Query], dict[str, Any]]
    separators: tuple[str, str] = ("?", "&")
    database_parameter: str = ""
    driver_scheme: str = ""
    driver_parameter: str = ""
    database_sql: str = ""
    table_column: str = "c.table_name"
    count: str = "COUNT(*)"
    session_init: str = ""
    is_wall_clock: bool = False

    def __str__(self) -> str:
        return self.name

    def with_parameters(self, url: str, parameters: Iterable[str]) -> str:
        """The URL with more parameters, each ``name=value`` or a name alone."""
        first, next_ = self.separators
        for parameter in parameters:
            url = url.rstrip(first)
            url = f"{url}{next_ if first in url else first}{parameter}"
        return url

    def driver_url(self, url: str) -> str:
        """The URL as Spark and the driver need it, of what people give."""
        if self.driver_scheme:
            url = f"jdbc:{self.driver_scheme}://{url.partition('://')[2]}"
        return url if self.driver_parameter in url else self.with_parameters(url, [self.driver_parameter])

    def read_database(self, table: SourceTable, query: Query) -> str:
        """The name of the database that a table is in, as the connector's events have it."""
        return str(query(self.database_sql)[0]["db"]) if self.database_sql else table.schema

    def quoted(self, name: str) -> str:
        """A name as SQL, whatever is in it."""
        left, right = self.quotes
        return f"{left}{name.replace(right, right * 2)}{right}"

    def table(self, table: SourceTable) -> str:
        """A table's name as SQL."""
        return f"{self.quoted(table.schema)}.{self.quoted(table.name)}"

    def columns(self, table: SourceTable) -> str:
        """Selects the columns that this user may see: place, name, type, digits; no row when there is no such table."""
        # Neither has a quote or a backslash in it: SourceTable takes none.
        return f"{self.columns_sql}'{table.schema}' AND {self.table_column} = '{table.name}'"

    def primary_key(self, table: SourceTable) -> str:
        """Selects the columns of the primary key: place, name; no row when the table has no primary key."""
        return self.primary_key_sql.format(schema=table.schema, name=table.name)  # neither has a quote in it

    def column(self, name: str, type_: str, digits: str | None = None) -> JdbcColumn | None:
        """The column as it is read; None when its type is none that is. ``digits`` are ``precision,scale``."""
        form = self.forms.get(type_.lower())
        if not form:
            return None
        precision, _, scale = (digits or "").partition(",")
        return JdbcColumn(
            name=name,
            kind=form[0],
            before=form[1],
            behind=form[2],
            type=form[3],
            digits=(int(precision), int(scale)) if precision and form[0] is ColumnKind.DECIMAL else None,
        )

    def cut_kind(self, column: JdbcColumn) -> ColumnKind:
        """The kind by which parts of a column are made."""
        is_wall_clock = column.kind is ColumnKind.INSTANT and self.is_wall_clock
        if is_wall_clock or column.kind is ColumnKind.NANO_TIMESTAMP:
            return ColumnKind.TIMESTAMP
        return column.kind

    def extent(self, table: SourceTable, column: JdbcColumn | None) -> str:
        """Selects the number of rows, and the least and the greatest value of a column, all as text."""
        as_text = self.forms["bigint"]
        selected = [f"{as_text[1]}{self.count}{as_text[2]} AS counted"]
        if column:
            quoted = self.quoted(column.name)
            selected += [
                f"{column.as_text(f'{end}({quoted})')} AS {name}" for end, name in (("MIN", "low"), ("MAX", "high"))
            ]
        return select(selected, self.table(table))
