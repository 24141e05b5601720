"""Versions of the rows of a table with ``history``: one SELECT for every engine over their events.

``<table>_history`` has a row for each event that is about a row of the table: its values, whether it deleted the row,
which columns it did not have. Rows are only added, so a late event costs nothing but its own. What a version was,
and from when to when, is computed by the reader: by windows over the events of a key in their order.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER, VALID, TableSpec
from spark_jobs.lake_spec.tables import Nulls

HISTORY_KEY, HISTORY_TIME, HISTORY_ABSENT = "history__key", "history__time", "history__unsaid"
"""Columns of a history beside those of the table, ``row_order`` and ``is_deleted``: the order with the key, which is
unique; the time of the event; the columns that it did not have, each between commas. No other has ``__`` in it."""
OF_AN_EVENT = (ROW_ORDER, IS_DELETED, HISTORY_TIME, HISTORY_ABSENT)
_DELETED, _TIME, _LIFE, _IS_NEW, _FROM, _TO = "deleted__flag", "at__time", "life__no", "new__flag", "from__at", "to__at"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def named_absent(column: str) -> str:
    """A column in the list of those that an event did not have."""
    return f",{column},"


def key_columns(table: TableSpec) -> tuple[str, ...]:
    """The lake's names of the columns of a table's key."""
    return tuple(table.column_name(source) for source in table.key) if table.is_mirror else table.key


def history_columns(table: TableSpec, stored: Iterable[str]) -> tuple[str, ...]:
    """The table's own columns among those that its history is stored with: the key, then values."""
    keys, other = key_columns(table), (*OF_AN_EVENT, HISTORY_KEY)
    values = [name for name in stored if name not in keys and name not in other and not name.startswith("_hoodie")]
    return (*keys, *(values if table.is_mirror else (name for name in table.columns if name in values)))


def versions_select(table: TableSpec, columns: Iterable[str], spec: LakeSpec, *, source: str, quote: str) -> str:
    """The versions of a table's rows: its columns, ``valid_from`` and ``valid_to``.

    A version begins with the event that made it and ends with the next one, of another version or a delete; the newest
    has no end. Events count in their order: one that says an earlier time than an event before it begins at the time of
    that one, so that at every moment at most one version counts. A version of no duration (two changes at one time) has
    ``valid_from`` = ``valid_to``. A column of the table that is called so has ``_`` behind its name.

    Args:
        table: the table whose rows.
        columns: what :func:`history_columns` gives.
        spec: the lake, which says what null means.
        source: the history as it is to be named, quoted where it has to be.
        quote: the quote character around a name.
    """

    def q(name: str) -> str:
        return f"{quote}{name}{quote}"

    def over(*by: str, so_far: str = "") -> str:
        return f"OVER (PARTITION BY {', '.join(map(q, by))} ORDER BY {q(ROW_ORDER)}{so_far})"

    def before(name: str) -> str:
        return f"LAG({q(name)}) {over(*keys)}"

    keys = key_columns(table)
    values = [name for name in columns if name not in keys]
    unknown = _unknown(table, values, spec)
    own, kept, so_far = [*map(q, (*keys, *values))], [*map(q, (ROW_ORDER, _DELETED, _TIME))], f" {_SO_FAR}"
    delete = f"CASE WHEN {q(IS_DELETED)} THEN 1 ELSE 0 END"
    events = [
        *(*own, q(ROW_ORDER), q(HISTORY_ABSENT), f"{delete} AS {q(_DELETED)}"),
        f"MAX({q(HISTORY_TIME)}) {over(*keys, so_far=so_far)} AS {q(_TIME)}",
        f"SUM({delete}) {over(*keys, so_far=so_far)} AS {q(_LIFE)}",
    ]
    # A value stays until the next event that says one: each begins a group, of which it is the first.
    group = {name: f"group__{number}" for number, name in enumerate(values)}
    listed = {name: f"REPLACE({q(HISTORY_ABSENT)}, '{named_absent(name)}', '')" for name in values}
    has_value = {
        name: f"{q(name)} IS NOT NULL" + ("" if name in unknown else f" OR {listed[name]} = {q(HISTORY_ABSENT)}")
        for name in values
    }
    groups = [
        f"SUM(CASE WHEN {has_value[name]} THEN 1 ELSE 0 END) {over(*keys, _LIFE, so_far=so_far)} AS {q(group[name])}"
        for name in values
    ]
    filled = [f"FIRST_VALUE({q(name)}) {over(*keys, _LIFE, group[name])} AS {q(name)}" for name in values]
    same = [f"({q(n)} = {before(n)} OR ({q(n)} IS NULL AND {before(n)} IS NULL))" for n in values]
    is_first = f"{q(_DELETED)} = 1 OR COALESCE({before(_DELETED)}, 1) = 1"
    is_new = f"CASE WHEN {is_first} THEN 1 WHEN {' AND '.join(same) or '1 = 1'} THEN 0 ELSE 1 END AS {q(_IS_NEW)}"
    bounds = [f"{q(_TIME)} AS {q(_FROM)}", f"LEAD({q(_TIME)}) {over(*keys)} AS {q(_TO)}"]
    shown = [f"{q(name)} AS {q(f'{name}_')}" if name in VALID else q(name) for name in (*keys, *values)]
    shown += [f"{q(name)} AS {q(valid)}" for name, valid in zip((_FROM, _TO), VALID, strict=True)]
    steps = {
        "events": _select(events, source),
        "grouped": _select([*own, *kept, q(_LIFE), *groups], "events"),
        "filled": _select([*map(q, keys), *kept, *filled], "grouped"),
        "compared": _select([*own, *kept, is_new], "filled"),
        "bounded": _select([*own, q(_DELETED), *bounds], "compared", f"{q(_IS_NEW)} = 1"),
    }
    named = ",\n".join(f"{name} AS (\n{select}\n)" for name, select in steps.items())
    return f"WITH {named}\n" + _select(shown, "bounded", f"{q(_DELETED)} = 0")


def _select(columns: Iterable[str], source: str, where: str = "") -> str:
    lines = ("SELECT", "    " + ",\n    ".join(columns), f"FROM {source}")
    return "\n".join((*lines, f"WHERE {where}") if where else lines)


def _unknown(table: TableSpec, values: Iterable[str], spec: LakeSpec) -> frozenset[str]:
    """Columns in which null says nothing."""
    named = {table.column_name(n) if table.is_mirror else n: rule for n, rule in table.null_columns}
    return frozenset(name for name in values if named.get(name, spec.nulls_of(table)) is Nulls.UNKNOWN)
