"""What a statement at the source shows in the lake."""

from __future__ import annotations

from typing import Any

import pytest

from local_stack.demos.live_failover import FIRST, LOST
from local_stack.demos.live_source import COMPARED, STATEMENTS, Statement

ENTERED, SIGNED, CANCELLED, DELETED = STATEMENTS


def row(**values: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COMPARED, 1), "is_deleted": False, **values}


@pytest.mark.parametrize("statement", [*STATEMENTS, LOST, FIRST], ids=lambda each: each.title)
def test_it_shows_once_the_row_is_as_it_says_and_not_before(statement: Statement) -> None:
    sale, other = statement.sale, row(sale_id=1)
    assert statement.has_come({1: other}) == (statement.shows is None)
    after = row(sale_id=sale, **(statement.shows or {}))
    assert statement.has_come({sale: after}) == (statement.shows is not None)
    assert statement.has_come({sale: after | {"is_deleted": True}}) == (statement.shows is None)
    for name in statement.shows or ():
        assert not statement.has_come({sale: after | {name: 77}})


def test_a_cancelled_contract_has_no_amount_and_no_date() -> None:
    assert CANCELLED.shows is not None
    assert CANCELLED.has_come({CANCELLED.sale: row(**CANCELLED.shows)})
    assert not CANCELLED.has_come({CANCELLED.sale: row(**CANCELLED.shows) | {"contract_subtotal": 3}})
