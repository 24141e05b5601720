"""Pages of three rounds of ours, Iceberg, Hudi's defaults and the floor (medians 3, 4, 12 and 2 s), and of figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.landing import covered
from bench.report import Conditions, Figures, Race, render_page, to_json

CONDITIONS = Conditions(
    started_at="2026-11-21T10:00:00+00:00", cores=2, load_at_start=(0.1, 0.2, 0.3), load_at_end=(2.0, 1.5, 1.0)
)
RACE = Race(
    title="Workload W1",
    method="Six tables.",
    subject="ours",
    aims={"Iceberg MERGE": 0.6, "Parquet append": 2.0},
    rows_scale=1,
    warm_ups=4,
    seconds={
        "ours": [9.0, 3.0, 1.0],
        "Iceberg MERGE": [4.0, 4.0, 5.0],
        "Hudi, defaults": [12.0, 11.0, 13.0],
        "Parquet append": [2.0, 2.0, 2.0],
    },
    differing_tables={"ours": [], "Iceberg MERGE": [], "Hudi, defaults": []},
)
FIGURES = Figures(
    title="Parsing",
    method="Once.",
    what="file",
    unit="s",
    values={"a.py": 0.25, "b.py": 1.5},
    aim=1.0,
    notes=["pyspark was loaded by none."],
)


def page_of(*found: Race | Figures) -> str:
    return render_page([json.loads(json.dumps(to_json(part, CONDITIONS))) for part in found])


def test_ratio_is_the_subjects_median_divided_by_the_others():
    assert RACE.ratios == {"Iceberg MERGE": 0.75, "Hudi, defaults": 0.25, "Parquet append": 1.5}


def test_page_puts_every_ratio_beside_its_aim():
    page = page_of(RACE)
    assert "| contender | median s | fastest s | slowest s | ours / it | aim | |" in page
    assert "| ours | 3.00 | 1.00 | 9.00 | | | |" in page
    assert "| Iceberg MERGE | 4.00 | 4.00 | 5.00 | 0.75 | 0.6 | not met |" in page
    assert "| Hudi, defaults | 12.00 | 11.00 | 13.00 | 0.25 | | |" in page
    assert "| Parquet append | 2.00 | 2.00 | 2.00 | 1.50 | 2.0 | met |" in page


def test_page_says_how_it_was_run():
    page = page_of(RACE)
    assert "at the start 0.10 / 0.20 / 0.30, at the end 2.00 / 1.50 / 1.00" in page
    assert "Medians of 3 rounds after 4 warm-up rounds" in page
    assert "the same in: ours, Iceberg MERGE, Hudi, defaults" in page
    assert "Six tables." in page
    assert "trial" not in page


def test_page_of_a_trial_warns():
    assert "A trial with 0.01 times the rows" in page_of(replace(RACE, rows_scale=0.01))


def test_page_names_tables_that_differ():
    race = replace(RACE, differing_tables={"ours": [], "Iceberg MERGE": ["units", "sales"]})
    assert not race.rows_agree
    assert "Rows differ from those of ours: Iceberg MERGE (units, sales)." in page_of(race)


def test_without_the_subject_there_are_no_ratios():
    race = replace(RACE, seconds={"Iceberg MERGE": [4.0]}, differing_tables={"Iceberg MERGE": []})
    assert race.ratios == {}
    assert "Rows were not compared" in page_of(race)


def test_figures_stand_beside_their_aim():
    page = page_of(RACE, FIGURES)
    assert "| a.py | 0.25 s | 1 s | met |" in page
    assert "| b.py | 1.50 s | 1 s | not met |" in page
    assert page.index("## Workload W1") < page.index("## Parsing") < page.index("pyspark was loaded by none.")


@pytest.mark.parametrize("seconds", [{}, {"ours": []}, {"ours": [1.0], "Iceberg MERGE": [1.0, 2.0]}])
def test_refuses_uneven_rounds(seconds):
    with pytest.raises(ValueError, match="same number of timed rounds"):
        replace(RACE, seconds=seconds)


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        ([], 0),
        ([(1, 2), (5, 6)], 2),
        ([(5, 8), (1, 6)], 7),
        ([(-5, 1), (9, 30)], 2),
        ([(1, 9), (2, 3), (8, 9.5)], 8.5),
    ],
)
def test_time_is_counted_once_and_within_the_window(parts, seconds):
    assert covered((0, 10), parts) == seconds
