"""Functions that SQL of marts may not use: those that do not give the same for the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Steps
from spark_jobs.sql_analysis.mart_sql_text import TIME_ZONE, functions_in, parse_sql, sql_tokens
from spark_jobs.sql_analysis.mart_sql_tree import aggregate_calls, window_definition, window_over, wrapped

if TYPE_CHECKING:
    from sqlglot import exp

_UNSTABLE = """
    now curdate current_date current_timestamp localtimestamp current_timezone
    current_user session_user user current_catalog current_database current_schema
    rand random randn uuid shuffle monotonically_increasing_id spark_partition_id
    input_file_name input_file_block_start input_file_block_length aes_encrypt reflect java_method
    mode approx_percentile percentile_approx histogram_numeric
"""
_GENERATORS = "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple"
_MOVING_DAYS = "now today yesterday tomorrow"


def has_generator(text: str) -> bool:
    """True when a function makes several rows of one."""
    return not functions_in(text).isdisjoint(_GENERATORS.split())


def check_functions(text: str, tree: exp.Expr) -> None:
    """ContractError for parameters that are not known, and for functions that do not give the same every time."""
    from sqlglot import exp

    parameters = list(tree.find_all(exp.Placeholder, exp.Parameter))
    if unknown := [each.sql() for each in parameters if each.name != TIME_ZONE or isinstance(each, exp.Parameter)]:
        raise ContractError(f"its SQL has the parameter {unknown[0]}; the only one there is is :{TIME_ZONE}")
    if unstable := sorted(functions_in(text).intersection(_UNSTABLE.split())) or list(_clocks(tree)):
        raise ContractError(
            f"{unstable[0]} does not give the same for the same rows; take times from the rows, or declare a window",
            at=_place(text, unstable[0]),
        )
    if tree.find(exp.TableSample):
        raise ContractError("TABLESAMPLE does not give the same for the same rows; take it out")
    for call in tree.find_all(exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue):
        if not _has_order(call):
            raise ContractError(
                f"{call.sql_name().lower()} depends on the order in which rows come; use min, max, min_by or max_by"
            )
    for call in tree.find_all(exp.ArrayAgg, exp.ArrayUniqueAgg):
        if not _has_order(call) and not _is_sorted(call):
            raise ContractError(
                "collect_list and collect_set depend on the order in which rows come; put them directly into "
                "array_sort(…) without a comparison of your own"
            )


def _place(text: str, name: str) -> Steps:
    """The line in which a function is first named."""
    lines = [token.line for token in sql_tokens(text) if token.text.lower() == name]
    return ("sql", lines[0]) if lines else ("sql",)


def parse_expression(text: str, *, at: Steps = ()) -> exp.Expr:
    """One value made of the columns of one row; ContractError for anything else, ``at`` the place of the text."""
    try:
        return _expression(text)
    except ContractError as error:
        raise ContractError(str(error), at=at) from error


def _expression(text: str) -> exp.Expr:
    from sqlglot import exp

    tree = parse_sql(text, wanted="expression")
    check_functions(text, tree)
    is_value = isinstance(tree, exp.Condition) and not isinstance(tree, exp.Query | exp.Alias)
    if not is_value or tree.find(exp.Query, exp.Window, exp.Star) or any(aggregate_calls(tree)) or has_generator(text):
        raise ContractError(f"{show(text)} is not one value of one row; give an expression over its columns")
    return tree


def _clocks(tree: exp.Expr) -> Iterator[str]:
    """Clocks that are no function by name: ``current_date``, ``DATE 'today'``, ``unix_timestamp()``."""
    from sqlglot import exp

    for node in tree.find_all(exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp):
        yield node.sql("spark").lower()
    for column in tree.find_all(exp.Column):
        if column.name.lower() == "localtimestamp" and not column.table and not column.this.args.get("quoted"):
            yield column.name
    for cast in tree.find_all(exp.Cast):
        if cast.this.is_string and (cast.this.name.lower().split() or [""])[0] in _MOVING_DAYS.split():
            yield repr(cast.this.name)


def _has_order(call: exp.Expr) -> bool:
    window = window_over(call)
    return window is not None and bool(window_definition(window).args.get("order"))


def _is_sorted(call: exp.Expr) -> bool:
    from sqlglot import exp

    whole = window_over(call) or wrapped(call)
    sort = whole.parent
    return isinstance(sort, exp.ArraySort) and not isinstance(sort.args.get("expression"), exp.Lambda)
