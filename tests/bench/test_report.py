"""Three rounds of ours, Iceberg, Hudi's defaults and the floor: medians 3, 4, 12 and 2 seconds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.report import BenchRun, render_page

RUN = BenchRun(
    started_at="2026-11-21T10:00:00+00:00",
    cores=2,
    rows_scale=1,
    warm_ups=4,
    load_at_start=(0.1, 0.2, 0.3),
    load_at_end=(2.0, 1.5, 1.0),
    seconds={
        "ours": [9.0, 3.0, 1.0],
        "Iceberg MERGE": [4.0, 4.0, 5.0],
        "Hudi, defaults": [12.0, 11.0, 13.0],
        "Parquet append": [2.0, 2.0, 2.0],
    },
    differing_tables={"ours": [], "Iceberg MERGE": [], "Hudi, defaults": []},
)


def test_ratio_is_our_median_divided_by_theirs():
    assert RUN.ratios == {"Iceberg MERGE": 0.75, "Hudi, defaults": 0.25, "Parquet append": 1.5}


def test_page_puts_every_ratio_beside_its_aim():
    page = render_page(RUN)
    assert "| ours | 3.00 | 1.00 | 9.00 | | | |" in page
    assert "| Iceberg MERGE | 4.00 | 4.00 | 5.00 | 0.75 | 0.6 | not met |" in page
    assert "| Hudi, defaults | 12.00 | 11.00 | 13.00 | 0.25 | | |" in page
    assert "| Parquet append | 2.00 | 2.00 | 2.00 | 1.50 | 2.0 | met |" in page


def test_page_says_how_it_was_run():
    page = render_page(RUN)
    assert "at the start 0.10 / 0.20 / 0.30, at the end 2.00 / 1.50 / 1.00" in page
    assert "Medians of 3 rounds after 4 warm-up rounds" in page
    assert "the same in: ours, Iceberg MERGE, Hudi, defaults" in page
    assert "trial" not in page


def test_page_of_a_trial_warns():
    assert "A trial with 0.01 times the rows" in render_page(replace(RUN, rows_scale=0.01))


def test_page_names_tables_that_differ():
    run = replace(RUN, differing_tables={"ours": [], "Iceberg MERGE": ["units", "sales"]})
    assert not run.rows_agree
    assert "Rows differ from those of ours: Iceberg MERGE (units, sales)." in render_page(run)


def test_without_ours_there_are_no_ratios():
    run = replace(RUN, seconds={"Iceberg MERGE": [4.0]}, differing_tables={"Iceberg MERGE": []})
    assert run.ratios == {}
    assert "Rows were not compared" in render_page(run)


def test_json_holds_all_rounds():
    found = json.loads(json.dumps(RUN.to_json()))
    assert found["seconds"]["ours"] == [9.0, 3.0, 1.0]
    assert found["ratios"]["Iceberg MERGE"] == 0.75
    assert found["rows_agree"] is True


@pytest.mark.parametrize("seconds", [{}, {"ours": []}, {"ours": [1.0], "Iceberg MERGE": [1.0, 2.0]}])
def test_refuses_uneven_rounds(seconds):
    with pytest.raises(ValueError, match="same number of timed rounds"):
        replace(RUN, seconds=seconds)
