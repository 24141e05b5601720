"""Where SQL of a mart uses business rules: ``RULE('share')`` is the value ``share`` of the version that counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sql_analysis.mart_sql_text import exchange, is_text, sql_tokens

RULE = "rule"
_LENGTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCall:
    """``RULE('share')`` in a text: from ``start`` to ``stop`` (exclusive), in a line, for the value of this name."""

    start: int
    stop: int
    line: int
    value: str


def rule_calls(text: str) -> tuple[RuleCall, ...]:
    """Every use of a rule, in the order of the text; ContractError for one that does not name its value."""
    return tuple(_calls(text))


def _calls(text: str) -> Iterator[RuleCall]:
    tokens = sql_tokens(text)
    for place, token in enumerate(tokens):
        opens = place + 1 < len(tokens) and tokens[place + 1].text == "(" and not is_text(tokens[place + 1])
        if is_text(token) or token.text.lower() != RULE or not opens:
            continue
        call = tokens[place : place + _LENGTH]
        if len(call) < _LENGTH or not is_text(call[2]) or call[3].text != ")" or is_text(call[3]):
            raise ContractError(
                "RULE takes the name of one value in quotes; write it as RULE('share')", at=("sql", token.line)
            )
        yield RuleCall(start=token.start, stop=call[3].end + 1, line=token.line, value=call[2].text)


def masked(text: str, calls: Iterable[RuleCall]) -> str:
    """The text with a column (:func:`mask`) in place of each use, so that it is found in the parsed text again."""
    return exchange(text, [(call.start, call.stop, mask(number)) for number, call in enumerate(calls)])


def mask(number: int) -> str:
    """A name that no column has."""
    return f"{RULE}__{number}"
