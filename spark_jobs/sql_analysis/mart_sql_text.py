"""The text of mart SQL: what it names, and the same text with tables and parameters filled in.

SQL is never generated from its parsed form: what runs is what was declared, with a few words exchanged in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.places import Steps

if TYPE_CHECKING:
    from sqlglot import Token, exp

DIALECT = "spark"
TIME_ZONE = "time_zone"
"""The one parameter that SQL of a mart may use: ``:time_zone``."""

Edit = tuple[int, int, str]
"""From, to (exclusive), and the replacement."""


@lru_cache(maxsize=512)
def parse_sql(text: str, *, wanted: str = "SELECT") -> exp.Expr:
    """The one statement or expression in ``text``; ContractError when it cannot be read, or there are several.

    A text is parsed once, so the tree is shared: whoever changes one changes a copy.
    """
    from sqlglot import errors, exp, parse

    try:
        parsed = parse(text, dialect=DIALECT)
    except errors.SqlglotError as error:
        raise ContractError(f"its SQL cannot be read ({_reason(error)}); correct it", at=_place(error)) from error
    statements = [part for part in parsed if part is not None and not isinstance(part, exp.Semicolon)]
    if len(statements) != 1:
        raise ContractError(f"its SQL has {len(statements)} statements; give one {wanted}")
    return statements[0]


def fill_time_zone(text: str, time_zone: str) -> str:
    """The statement without comments around it and semicolons after it, and ``:time_zone`` as a quoted text."""
    tokens, literal = sql_tokens(text), quoted(time_zone)
    edits = [
        (one.start, other.end + 1, literal)
        for one, other in pairwise(tokens)
        if one.text == ":" and not is_text(one) and other.text == TIME_ZONE
    ]
    return exchange_within(text, edits)


def quoted(text: str) -> str:
    """The text as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def exchange(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made; they do not overlap."""
    for start, stop, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[stop:]
    return text


def exchange_within(text: str, edits: Iterable[Edit]) -> str:
    """The statement with other words in it, without comments around it and semicolons after it."""
    tokens = [token for token in sql_tokens(text) if token.text != ";" or is_text(token)]
    first, last = tokens[0].start, tokens[-1].end + 1
    return exchange(text[:last], edits)[first:]


def replace_tables(text: str, tables: Mapping[str, str]) -> str:
    """The same SQL over other names. A table keeps its own as alias, so that columns qualified by it still resolve."""
    query, edits = parse_sql(text), []
    for table in tables_in(query):
        start, stop = table.this.meta["start"], table.this.meta["end"] + 1
        alias = "" if table.alias else f" AS {text[start:stop]}"
        if table.name.lower() in tables:
            edits.append((start, stop, tables[table.name.lower()] + alias))
        elif table.name.lower() not in with_names(query):
            raise ContractError(f"the SQL reads {table.name}, for which no rows were given; declare it in reads")
    return exchange(text, edits)


def add_aggregates(text: str, always: str, states: Mapping[int, Iterable[tuple[str, str]]]) -> str:
    """A plain SELECT with more aggregates behind its columns.

    Args:
        text: one SELECT without WITH and sub-queries.
        always: an aggregate with its name.
        states: by the place of a column ``f(x)``: functions that take the same ``x``, each with its name.
    """
    tokens = list(sql_tokens(text))
    items = list(_select_items(tokens))
    added = [always]
    for place, functions in states.items():
        opening, closing = _brackets(items[place])
        argument = text[opening.end + 1 : closing.start]
        added += [f"{function}({argument}) AS {name}" for function, name in functions]
    start = items[-1][-1].end + 1
    return exchange(text, [(start, start, ", " + ", ".join(added))])


def tables_in(query: exp.Expr) -> Iterator[exp.Table]:
    """Every place where a table (or a name of WITH) is read."""
    from sqlglot import exp

    return (table for table in query.find_all(exp.Table) if not table.find_ancestor(exp.Hint))


def with_names(query: exp.Expr) -> frozenset[str]:
    """Names that WITH gives to queries, in lower case."""
    from sqlglot import exp

    return frozenset(cte.alias.lower() for cte in query.find_all(exp.CTE))


@lru_cache(maxsize=512)
def sql_tokens(text: str) -> Sequence[Token]:
    """Words and signs of the text, without comments."""
    from sqlglot import errors, tokenize

    try:
        tokens = tokenize(text, dialect=DIALECT)
    except errors.SqlglotError as error:
        raise ContractError(f"its SQL cannot be read ({_reason(error)}); correct it", at=_place(error)) from error
    if not tokens:
        raise ContractError("its SQL is empty; write it")
    return tuple(tokens)


def is_text(token: Token) -> bool:
    """True for quoted text; a quoted name is no text."""
    return token.token_type.name.endswith("STRING")


def names_in(text: str) -> frozenset[str]:
    """Every word that may be the name of something, in lower case."""
    return frozenset(token.text.lower() for token in sql_tokens(text) if not is_text(token))


def functions_in(text: str) -> frozenset[str]:
    """Every word before an opening bracket, in lower case."""
    tokens = sql_tokens(text)
    return frozenset(
        one.text.lower()
        for one, other in pairwise(tokens)
        if other.text == "(" and not is_text(one) and not is_text(other)
    )


def _select_items(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each column between SELECT and FROM."""
    depth = 0
    item: list[Token] = []
    for token in tokens[1:]:
        sign = "" if is_text(token) else token.text.upper()
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0 and sign in (",", "FROM"):
            yield item
            item = []
            if sign == "FROM":
                return
        else:
            item.append(token)


def _brackets(item: Sequence[Token]) -> tuple[Token, Token]:
    """The first opening bracket, and the one that closes it."""
    signs = [token for token in item if token.text in ("(", ")") and not is_text(token)]
    depth = 0
    for sign in signs:
        depth += 1 if sign.text == "(" else -1
        if depth == 0:
            return signs[0], sign
    raise ContractError(f"its SQL cannot be read (a bracket after {item[0].text} stays open); correct it")


def _place(error: Exception) -> Steps:
    """The line that the parser stopped at, when it says so."""
    details = getattr(error, "errors", None)
    return ("sql", details[0]["line"]) if details else ("sql",)


def _reason(error: Exception) -> str:
    details = getattr(error, "errors", None)
    if not details:
        return " ".join(str(error).split())
    what = str(details[0]["description"]).split(" but got ")[0]
    return f"{what}, at {details[0]['highlight']!r} in line {details[0]['line']}"
