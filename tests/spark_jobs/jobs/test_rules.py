"""The job rules: versions as a table, and what changes for whom under another one.

Sale 1 of Ann (project 3) is reserved in January and signed in February; sale 2 of Bob (project 1) is drafted and signed
in February; sale 3 of agent 9, who has no name, is only reserved, in March. By hand, subtotal * share * factor:

=====  ===============================  =====================================================
agent  v1: 1 at signing (8)             v2: 0.2 at 6, 0.3 at 7, 0.5 at 8; 1.10 in project 3
=====  ===============================  =====================================================
Ann    1000 in February                 1000 * 0.2 * 1.1 in January, 1000 * 0.5 * 1.1 in February
Bob    2000 in February                 2000 * 0.3 + 2000 * 0.5 in February
9      nothing                          300 * 0.2 in March
=====  ===============================  =====================================================
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import parse_arguments
from tests.support.contexts import run_in
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake

NO_SESSION = cast(SparkSession, None)
DAY = 24 * 60
EVENTS: list[tuple[int, int, dict[str, Any]]] = [
    (1, 10 * DAY, {"AgentId": 7, "AgentName": "Ann", "ProjectId": 3, "StatusId": 6, "ContractSubtotal": "1000.0000"}),
    (1, 40 * DAY, {"StatusId": 8}),
    (2, 41 * DAY, {"AgentId": 8, "AgentName": "Bob", "ProjectId": 1, "StatusId": 7, "ContractSubtotal": "2000.0000"}),
    (2, 42 * DAY, {"StatusId": 8}),
    (3, 70 * DAY, {"AgentId": 9, "ProjectId": 1, "StatusId": 6, "ContractSubtotal": "300.0000"}),
]


def run(settings: Settings, *words: str, spark: SparkSession | None = None) -> JobResult:
    context = parse_arguments(["rules", *words, "--clock", "2026-04-01"])
    return run_in(replace(context, settings=settings, session=spark))


def printed(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Words of the lines that were printed, without the rule below the header."""
    return [text.split() for text in capsys.readouterr().out.splitlines() if set(text) - {"-", " "}]


def test_the_versions_as_a_table(capsys):
    result = run(Settings(), "list")
    assert (result.status, result.counters) == (DONE, {"versions": 2})
    header, *versions = printed(capsys)
    assert header[:3] == ["version", "valid", "from"]
    assert [words[:3] for words in versions] == [["v1", "2015-01-01", "yes"], ["v2", "2026-01-01", "no"]]
    assert header[3:6] == ["promoted", "share", "factor"]
    assert " ".join(versions[0]).startswith("v1 2015-01-01 yes CASE status_id WHEN 8 THEN 1 ELSE 0 END 1 The whole")
    assert "ELSE 0 END CASE project_id WHEN 3 THEN 1.10 ELSE 1 END A fifth" in " ".join(versions[1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("v1", "v9"), r"there are no rules 'v9'; there are \['v1', 'v2'\]"),
        (("v1",), r"rules diff compares two versions; give two of \['v1', 'v2'\]"),
        (("v1", "v2", "v1"), "rules diff compares two versions"),
        (("v1", "v2", "--from", "January"), "'January' is not a month; give yyyy-MM"),
        (("v1", "v2", "--from", "2026-02", "--to", "2026-01"), "2026-02 to 2026-01 is no range of months"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(words, message):
    with pytest.raises(ContractError, match=message):
        run(Settings(), "diff", *words)


@pytest.mark.hudi
def test_two_versions_side_by_side(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ContractError, match=r"slow_milestones has no commit .* run: mart --layer slow"):
        run(lake.settings, "diff", "v1", "v2", spark=lake.spark)
    lines = [line(sqlserver("u", {"SaleId": sale, **row}, position)) for sale, position, row in EVENTS]
    lake.land("1.jsonl", lines)
    for job in ("ingest", "split"):
        lake.run(job)
    for mart in ("slow_sale_paths", "slow_milestones"):
        lake.run("mart", layer="slow", mart=mart)
    before = lake.instants()
    capsys.readouterr()

    result = run(lake.settings, "diff", "v1", "v2", spark=lake.spark)
    assert result.counters == {"months": 3, "cells": 3, "gaining": 1, "losing": 2}
    assert printed(capsys) == [
        ["v2", "instead", "of", "v1,", "2026-01", "to", "2026-03"],
        ["agent_id", "name", "v1", "v2", "gain", "or", "loss", "percent"],
        ["8", "Bob", "2,000.000000", "1,600.000000", "-400.000000", "-20.00"],
        ["7", "Ann", "1,000.000000", "770.000000", "-230.000000", "-23.00"],
        ["9", "0", "60.000000", "60.000000", "-"],
        ["total", "3,000.000000", "2,430.000000", "-570.000000", "-19.00"],
    ]
    words = ("diff", "v2", "v1", "--from", "2026-01-01", "--to", "2026-01", "--rows", "0")
    assert run(lake.settings, *words, spark=lake.spark).counters["gaining"] == 0
    assert printed(capsys)[2:] == [
        ["total", "220.000000", "0", "-220.000000", "-100.00"],
        [
            "and",
            "1",
            "more,",
            "which",
            "differ",
            "less;",
            "the",
            "total",
            "counts",
            "them",
            "(--rows",
            "prints",
            "more)",
        ],
    ]
    assert run(lake.settings, "diff", "v1", "v2", "--from", "2030-01", spark=lake.spark).counters["cells"] == 0
    assert lake.instants() == before, "nothing is written"
