"""Plans and previews as a page that a person approves.

The preview is that of a mart ``agent_totals`` with three rows, one of which changes and one of which goes.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse_provider.plan_pages import MOST_LINES, plan_page
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.previews import ColumnPreview
from spark_jobs.lake_spec.lake_plan import Action, DefinitionChange

NOON = Instant("20260310120000000")
CHANGED = DefinitionChange(
    table="agent_totals",
    changed=("sql", "+band"),
    action=Action.RECOMPUTE,
    instant=NOON,
    rows=1204,
    bytes=412310,
    seconds=14.2,
    downstream=("agent_bands",),
)
LEFT = DefinitionChange(table="units", changed=("key",), action=Action.IMPOSSIBLE, instant=NOON, remedy="put it back")
TOTAL = ColumnPreview(
    name="total",
    type_now="decimal(28,4)",
    type_then="decimal(28,4)",
    sum_now=Decimal("1069.5000"),
    sum_then=Decimal("44.0000"),
    changed=1,
    percent=Decimal("50.00"),
)
BAND = ColumnPreview(
    name="band", type_now=None, type_then="string", sum_now=None, sum_then=None, changed=2, percent=Decimal("100.00")
)


def as_sent(content: Any) -> Any:
    """What the next task has of it."""
    return json.loads(json.dumps(content))


def planned(*changes: DefinitionChange) -> dict[str, Any]:
    messages = [*(change.describe() for change in changes), "next: preview --plan plan-20260310T120000, then: …"]
    found = {"plan": "plan-20260310T120000", "changes": [change.facts() for change in changes]}
    counters = {"changes": len(changes), "to_recompute": 1, "impossible": len(changes) - 1}
    return dict(as_sent({"counters": counters, "messages": messages, "findings": found}))


def previewed(*columns: ColumnPreview, **samples: list[str]) -> dict[str, Any]:
    facts = {"rows_now": 1204, "rows_then": 1203, "columns": [column.facts() for column in columns], "samples": samples}
    words = ["agent_totals: 2 rows (0 new, 1 changed, 1 gone) in the table", "nothing was changed"]
    return dict(as_sent({"messages": words, "findings": {"agent_totals": facts}}))


def test_a_plan_is_a_page_with_its_numbers_and_words() -> None:
    words = ["slow_agent_success: 2026-01\n*all* of it", "nothing was changed; do it with --yes"]
    plan = {"counters": {"rows": 1234567, "partitions": 2, "rows_written": 0}, "messages": words}
    assert plan_page(plan).splitlines() == [
        "| what | number |",
        "| --- | ---: |",
        "| rows | 1,234,567 |",
        "| partitions | 2 |",
        "",
        r"- slow\_agent\_success: 2026-01",
        r"- \*all\* of it",
    ]


def test_a_name_in_a_plan_is_text_on_its_page() -> None:
    """The file of a plan for erasure, say: the page is Markdown, and a person decides by it."""
    name = "[Approve](https://evil.example) <img src=x> `code` |cell|"
    assert plan_page({"messages": [name]}) == r"- \[Approve\](https://evil.example) \<img src=x\> \`code\` \|cell\|"


def test_a_long_plan_is_cut_and_an_empty_one_says_so() -> None:
    lines = plan_page({"messages": [str(number) for number in range(MOST_LINES + 7)]}).splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "- and 7 lines more in the log"
    assert "The plan is empty" in plan_page({})


def test_a_plan_of_changes_and_its_preview_are_tables() -> None:
    page = plan_page(planned(CHANGED, LEFT), previewed(TOTAL, BAND, new=[], gone=["7", "a_b"]))
    assert page.splitlines() == [
        "| what | number |",
        "| --- | ---: |",
        "| changes | 2 |",
        "| to recompute | 1 |",
        "| impossible | 1 |",
        "",
        "| table | changed | what apply does | rows | partitions | bytes | last full refresh | downstream |",
        "| --- | --- | --- | ---: | ---: | ---: | --- | --- |",
        r"| agent\_totals | sql, +band | recompute | 1,204 | - | 412,310 | 14 s | agent\_bands |",
        "| units | key | cannot be done | - | - | 0 | - | - |",
        "",
        "- units: key changed: cannot be done: put it back",
        "",
        r"**agent\_totals**: 1,204 rows now, 1,203 then",
        "",
        "| column | type now | type then | sum now | sum then | rows changed | percent |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
        "| total | decimal(28,4) | decimal(28,4) | 1,069.5000 | 44.0000 | 1 | 50.00 |",
        "| band | - | string | - | - | 2 | 100.00 |",
        "",
        r"- gone, the first 2: 7, a\_b",
        "",
        r"- agent\_totals: 2 rows (0 new, 1 changed, 1 gone) in the table",
        "- nothing was changed",
    ]


def test_without_a_preview_the_page_is_the_plan() -> None:
    with_one = plan_page(planned(CHANGED), previewed(TOTAL))
    without = plan_page(planned(CHANGED), None)
    assert with_one.startswith(without)
    assert "rows now" not in without


@settings(max_examples=40)
@given(
    names=st.lists(st.text(alphabet="ab_|\n<`*", min_size=1, max_size=8), min_size=1, max_size=4),
    keys=st.lists(st.text(alphabet="x|\n]", min_size=1, max_size=4), max_size=3),
)
def test_names_and_keys_never_break_a_table(names: list[str], keys: list[str]) -> None:
    """Every row of the table has as many cells as its head, whatever columns and keys are called."""
    columns = [
        ColumnPreview(name=name, type_now=name, type_then=None, sum_now=1, sum_then=None, changed=0, percent=None)
        for name in names
    ]
    lines = plan_page({}, previewed(*columns, changed=keys)).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + len(names)
    assert {line.replace("\\|", "").count("|") for line in rows} == {8}
