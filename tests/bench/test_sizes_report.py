"""What was weighed on its page: a lake of 2,000 events with one table."""

from __future__ import annotations

import json

from bench.report import render_page, to_json
from bench.sizes_report import Sizes, TableSize
from tests.bench.test_report import CONDITIONS

SIZES = Sizes(
    title="What rows weigh",
    method="Weighed.",
    events=2_000,
    figures={"landing, bytes an event": 1010.2, "log, bytes an event": 81.86},
    tables=(TableSize(table="sales", rows=1_234, row_bytes=104.9, changed_rows=56, changed_row_bytes=451.4),),
)


def test_a_page_has_every_figure_and_table():
    page = render_page([json.loads(json.dumps(to_json(SIZES, CONDITIONS)))])
    assert "| events | 2,000 |" in page
    assert "| landing, bytes an event | 1,010 |" in page
    assert "| log, bytes an event | 81.9 |" in page
    assert "| sales | 1,234 | 105 | 56 | 451 |" in page
    assert SIZES.disagreements == []
