"""What SQL of every mart must be, and what modes append and aggregate require of it. Each refusal says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import show, show_all
from spark_jobs.lake_spec.marts import CELL_ID, MartMode, MartSpec
from spark_jobs.lake_spec.quality import RESULT_COLUMNS
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import VALID
from spark_jobs.sql_analysis.mart_sql_functions import check_functions, has_generator
from spark_jobs.sql_analysis.mart_sql_text import parse_sql, tables_in, with_names
from spark_jobs.sql_analysis.mart_sql_tree import aggregate_calls, is_star
from spark_jobs.sql_analysis.rule_calls import rule_calls

if TYPE_CHECKING:
    from sqlglot import exp

_CLAUSES = {
    "with_": "WITH",
    "joins": "a join",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}


def visible_columns(spec: LakeSpec, table: str) -> tuple[str, ...]:
    """The columns that SQL of marts sees of a table; ContractError when it is a mart whose own SQL cannot be read."""
    if table == spec.log:
        return spec.log_columns
    if table == spec.quality.table:
        return RESULT_COLUMNS
    if load := spec.find_load(table):
        return load.shown_columns
    if versions := spec.versions_of(table):
        return (*versions.key, *versions.columns, *VALID)
    if table not in spec.mart_names:
        declared = spec.table(table)
        return (*declared.key, *declared.columns)
    try:
        return output_columns(parse_sql(spec.mart(table).sql))
    except ContractError as error:
        raise ContractError(
            f"it reads mart {table}, which is wrong itself ({error}); correct that first", lacks=("sql", table)
        ) from error


def check_any(mart: MartSpec, query: exp.Expr) -> tuple[str, ...]:
    """What holds in every mode; gives the output columns."""
    columns = output_columns(query)
    check_functions(mart.sql, query)
    _check_tables(mart, query)
    _check_rules(mart)
    wanted = {"grain": mart.grain, "scope": (mart.scope,), "partition": (mart.partition,)}
    wanted["time"] = (mart.time.column,) if mart.time else ()
    for what, names in wanted.items():
        if missing := [name for name in names if name and name not in columns]:
            raise ContractError(
                f"{what} {show_all(missing)} is not among the columns {list(columns)} of its SQL; select it",
                at=(what,),
            )
    _check_limits(mart, query)
    return columns


def output_columns(query: exp.Expr) -> tuple[str, ...]:
    """Names of the columns of a SELECT; ContractError when one has none, is there twice or may not be used."""
    from sqlglot import exp

    branches = list(_branches(query))
    if not branches:
        raise ContractError("its SQL is no SELECT (or WITH … SELECT); write one")
    if any(is_star(item) for branch in branches for item in branch.expressions):
        raise ContractError("its SQL selects *, so its columns would follow those of what it reads; name them")
    items = branches[0].expressions
    for place, item in enumerate(items, start=1):
        if not isinstance(item, exp.Alias | exp.Column):
            raise ContractError(f"column {place} of its SQL ({item.sql('spark')}) has no name; give it one with AS")
    names = [item.alias_or_name for item in items]
    for name in names:
        check_identifier(name, "column")
        if "__" in name or name == CELL_ID:
            raise ContractError(f"column {show(name)} is a name kept for technical columns; call it otherwise")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ContractError(f"its SQL gives the columns {twice} twice; name each once")
    return tuple(names)


def check_append(text: str, query: exp.Expr) -> None:
    """Rows must be mapped and filtered one by one, or what is appended would not be all that changes."""
    found = _beyond_plain(query, {"group": "GROUP BY", "laterals": "LATERAL VIEW"})
    if not found and any(aggregate_calls(query)):
        found = "an aggregate"
    if not found and has_generator(text):
        found = "a function that makes several rows of one"
    if found:
        raise ContractError(
            f"mode append maps and filters rows one by one, and its SQL has {found}; take it out, or use mode scoped"
        )


def check_plain_aggregate(query: exp.Expr) -> None:
    """One SELECT with GROUP BY over one table, so that what came can be added to the cells and what left taken away."""
    found = _beyond_plain(query, {"hint": "a hint"}) or ("" if query.args.get("group") else "no GROUP BY")
    if found:
        raise ContractError(
            f"mode aggregate adds rows to cells and takes them away again, and its SQL has {found}; use mode scoped, "
            f"or put a mart of its own before or behind it"
        )


def _beyond_plain(query: exp.Expr, also: Mapping[str, str]) -> str:
    """What a query has beyond one SELECT of columns from one table with WHERE; "" for nothing."""
    from sqlglot import exp

    if not isinstance(query, exp.Select):
        return "more than one SELECT"
    if clause := next((words for name, words in {**_CLAUSES, **also}.items() if query.args.get(name)), ""):
        return clause
    if any(node is not query for node in query.find_all(exp.Query)):
        return "a sub-query"
    if query.find(exp.Window):
        return "a window function"
    source = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(source, exp.Table) or {name for name, value in source.args.items() if value} - {"this", "alias"}:
        return "something else than one table after FROM"
    return ""


def _branches(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs that give the rows of a query; several of a UNION."""
    from sqlglot import exp

    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.SetOperation):
        yield from _branches(query.this)
        yield from _branches(query.expression)
    elif isinstance(query, exp.Subquery):
        yield from _branches(query.this)


def _check_tables(mart: MartSpec, query: exp.Expr) -> None:
    from sqlglot import exp

    names, reads = with_names(query), {read.table for read in mart.reads}
    if any(each.args.get("recursive") for each in query.find_all(exp.With)):
        raise ContractError("WITH RECURSIVE is more than the engine can do; take it out")
    if clash := sorted(names & reads):
        raise ContractError(f"WITH gives {clash} the name of a table that it reads; call it otherwise")
    found = set()
    for table in tables_in(query):
        if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("version"):
            raise ContractError(
                f"its SQL reads {table.sql('spark')}; it may read tables by their plain names, as they are now"
            )
        found.add(table.name.lower())
    if missing := sorted(found - names - reads):
        raise ContractError(
            f"its SQL reads {missing[0]}, which is not among its reads {sorted(reads)}; add it there", at=("reads",)
        )
    if idle := sorted(reads - found):
        raise ContractError(f"its SQL never reads {idle[0]}; take it out of reads", at=("reads",))


def _check_rules(mart: MartSpec) -> None:
    calls = rule_calls(mart.sql)
    if calls and not mart.rules:
        raise ContractError("its SQL uses RULE(…), and it does not have rules: true; add that", at=("rules",))
    if mart.rules and not calls:
        raise ContractError("it has rules: true, and its SQL uses no RULE('…'); take that out", at=("rules",))


def _check_limits(mart: MartSpec, query: exp.Expr) -> None:
    from sqlglot import exp

    for limit in query.find_all(exp.Limit, exp.Fetch, exp.Offset):
        if not mart.mode.traits.is_whole:
            raise ContractError(f"its SQL has LIMIT or OFFSET, for which all rows are needed; use mode {MartMode.FULL}")
        if limit.parent is None or not limit.parent.args.get("order"):
            raise ContractError("LIMIT and OFFSET without ORDER BY do not give the same every time; add ORDER BY")
