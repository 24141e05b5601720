"""What may be named to be read once more, and what is refused with one line that says what may."""

from __future__ import annotations

import pytest

from spark_jobs.contracts.again import Again, OffsetRange
from spark_jobs.contracts.errors import ContractError


def test_topics_files_and_ranges_are_told_apart() -> None:
    again = Again.parse("erp.dbo.SALES, shop.*,erp.dbo.SALES/2026-*.jsonl,t/0:5-9,t/1:7-,t/2")
    assert again.topics == ("erp.dbo.SALES", "shop.*")
    assert again.files == ("erp.dbo.SALES/2026-*.jsonl",)
    assert again.ranges == (
        OffsetRange(topic="t", partition=0, first=5, last=9),
        OffsetRange(topic="t", partition=1, first=7),
        OffsetRange(topic="t", partition=2),
    )


@pytest.mark.parametrize(
    ("path", "is_meant"),
    [
        ("erp.dbo.sales/a.jsonl", True),
        ("erp.dbo.SALES/day/b.jsonl.gz", True),
        ("other/x-1.jsonl", True),
        ("other/X-1.jsonl", False),
        ("other/y.jsonl", False),
        ("erp.dbo.SALES_2/a.jsonl", False),
    ],
)
def test_a_file_is_meant_by_its_topic_or_its_path(path: str, is_meant: bool) -> None:
    assert Again.parse("ERP.dbo.SALES,other/x-*").has_file(path) is is_meant


@pytest.mark.parametrize("text", ["", " , ", "t/0:9-5", "t:0", "t/0:x-9", "/etc/passwd", "t/../x", "t/0:-5"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(ContractError, match=r"^--again .*(give a topic|ends before it begins)"):
        Again.parse(text)
