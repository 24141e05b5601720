"""Pages of three rounds of ours, Iceberg, Hudi's defaults and the floor (medians 3, 4, 12 and 2 s), and of figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.day_report import PICTURE, Beside, Day, Lake, Sample, TableCost, Work, draw
from bench.race import differing
from bench.refreshing import Rounds
from bench.report import Conditions, Figures, Found, Growth, Race, Races, render_page, to_json

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
    aims={"a.py": 1.0, "b.py": 1.0},
    notes=["pyspark was loaded by none."],
)


def page_of(*found: Found) -> str:
    return render_page([json.loads(json.dumps(to_json(part, CONDITIONS))) for part in found])


def test_a_machine_that_others_used_is_noted():
    """The load at the start is that of the part before as well."""
    assert "ther work" not in replace(CONDITIONS, load_at_start=(9.0, 0.2, 0.3)).describe()
    assert replace(CONDITIONS, others=0.03).describe().endswith(" Other work took 3% of the processors.")
    busy = replace(CONDITIONS, others=0.2).describe()
    assert busy.endswith(
        "**The machine was shared with other work: seconds are too many, ratios and counts are what to look at.**"
    )


def test_ratio_is_the_subjects_median_divided_by_the_others():
    assert RACE.ratios == {"Iceberg MERGE": 0.75, "Hudi, defaults": 0.25, "Parquet append": 1.5}


def test_page_puts_every_ratio_beside_its_aim():
    page = page_of(RACE)
    assert "| contender | median s | fastest s | slowest s | ours / it | aim | |" in page
    assert "| ours | 3.00 | 1.00 | 9.00 | | | |" in page
    assert "| Iceberg MERGE | 4.00 | 4.00 | 5.00 | 0.75 | 0.6 | not met |" in page
    assert "| Hudi, defaults | 12.00 | 11.00 | 13.00 | 0.25 | | |" in page
    assert "| Parquet append | 2.00 | 2.00 | 2.00 | 1.50 | 2 | met |" in page


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
    assert race.disagreements == ["Iceberg MERGE (units, sales)"]
    assert "Rows differ from those of ours: Iceberg MERGE (units, sales)." in page_of(race)


def test_without_the_subject_there_are_no_ratios():
    race = replace(RACE, seconds={"Iceberg MERGE": [4.0]}, differing_tables={"Iceberg MERGE": []})
    assert race.ratios == {}
    assert "Rows were not compared" in page_of(race)


def test_what_a_round_read_is_said_where_it_was_counted():
    read = {"ours": [9.0, 30.0, 11.0], "Iceberg MERGE": [2000.0, 1500.0, 1600.0]}
    assert "Read a round: ours 11 MB, Iceberg MERGE 1,600 MB." in page_of(replace(RACE, read_mb=read))
    assert "Read a round" not in page_of(RACE)


def test_figures_may_have_no_aim_or_one_that_is_the_least():
    page = page_of(replace(FIGURES, unit="", values={**FIGURES.values, "c": 0.5, "d": 7}, least={"c": 0.4}))
    assert "| c | 0.50 | at least 0.40 | met |" in page
    assert "| d | 7 | | |" in page


def test_figures_are_beside_their_aim():
    page = page_of(RACE, FIGURES)
    assert "| a.py | 0.25 s | 1 s | met |" in page
    assert "| b.py | 1.50 s | 1 s | not met |" in page
    assert page.index("## Workload W1") < page.index("## Parsing") < page.index("pyspark was loaded by none.")


@pytest.mark.parametrize("seconds", [{}, {"ours": []}, {"ours": [1.0], "Iceberg MERGE": [1.0, 2.0]}])
def test_refuses_uneven_rounds(seconds):
    with pytest.raises(ValueError, match="same number of timed rounds"):
        replace(RACE, seconds=seconds)


RACES = Races(
    title="Stitch layer",
    method="A history.",
    races=(
        replace(RACE, title="1,000 events", method="", aims={"Hudi, defaults": 0.05}, notes=("Made in 3 s.",)),
        replace(RACE, title="30,000 events", method="", seconds={**RACE.seconds, "ours": [4.0, 3.6, 0.9]}),
    ),
    growth=Growth.between({1000: 3.0, 30_000: 3.6}, 1.3),
)


def test_races_of_several_sizes_are_under_one_title_with_their_growth():
    page = page_of(RACES, FIGURES)
    places = [
        page.index(text)
        for text in (
            "## Stitch layer",
            "### 1,000 events",
            "| Hudi, defaults | 12.00 | 11.00 | 13.00 | 0.25 | 0.05 | not met |",
            "Made in 3 s.",
            "### 30,000 events",
            "| Hudi, defaults | 12.00 | 11.00 | 13.00 | 0.30 | | |",
            "| ours, 30,000 / 1,000 events | 1.20 | 1.3 | met |",
            "A history.",
            "## Parsing",
        )
    ]
    assert places == sorted(places)


def test_small_ratios_have_one_digit_more():
    race = replace(RACE, seconds={"ours": [0.3], "Iceberg MERGE": [7.0]}, aims={"Iceberg MERGE": 0.05})
    assert "| 0.043 | 0.05 | met |" in page_of(race)


def test_one_size_has_no_growth():
    assert Growth.between({1000: 3.0}, 1.3) is None
    assert "growth" not in page_of(replace(RACES, growth=None))


def test_races_disagree_when_one_of_them_does():
    assert RACES.disagreements == []
    wrong = replace(RACES.races[1], differing_tables={"ours": [], "Iceberg MERGE": ["sales"]})
    races = replace(RACES, races=(RACES.races[0], wrong))
    assert races.disagreements == ["30,000 events: Iceberg MERGE (sales)"]
    assert "Rows differ from those of ours: Iceberg MERGE (sales)." in page_of(races)


def test_fingerprints_are_compared_with_the_first():
    found = [("ours", "a", (1, 5)), ("ours", "b", (2, 7)), ("Delta", "a", (1, 5)), ("Delta", "b", (2, 8))]
    assert differing(found) == {"ours": [], "Delta": ["b"]}


def test_what_is_not_in_the_refreshes_is_reported():
    rounds = Rounds(refreshing={"ours": [1.0]}, taking={"the lake": [4.0, 6.0, 5.0], "Delta": [9.0, 9.0, 9.0]})
    assert rounds.intake.endswith("(median): the lake 5.0 s, Delta 9.0 s.")


def a_day(*file_counts: int) -> list[Sample]:
    return [
        Sample(
            seconds=number,
            service_seconds=2,
            files=files,
            bytes=files * 10**6,
            commits=10,
            written=300,
            landed=100,
            memory_mb=1000,
        )
        for number, files in enumerate(file_counts)
    ]


def lake_of(samples: list[Sample]) -> Lake:
    tables = [TableCost(table="sales", written=len(samples) * 10**6, opened=3 * 10**6, rows=2 * 10**6)]
    return Lake.of(f"of {len(samples)}", samples, query_seconds=0.5, tables=tables)


def test_a_day_is_a_table_of_its_beginning_and_its_end_with_a_picture(tmp_path: Path):
    days = {"of 16": a_day(*range(16)), "of 20": a_day(*[5] * 20)}
    day = Day(title="Day", method="Run.", events=10, lakes=[lake_of(samples) for samples in days.values()])
    page = page_of(day)
    assert "| | of 16 | of 20 |" in page
    assert "| table | MB alone | written, of 16 | written, of 20 | opened, of 16 | opened, of 20 |" in page
    assert "| sales | 2.00 | 8.0 | 10.0 | 1.5 | 1.5 |" in page
    assert "| data files, in the second and in the last eighth | 2.5 → 14.5 | 5.0 → 5.0 |" in page
    assert "| bytes written / bytes landed | 3.0 | 3.0 |" in page
    assert "| seconds of services, all day | 32 | 40 |" in page
    assert f"]({PICTURE})" in page
    draw(days, tmp_path / PICTURE)
    assert (tmp_path / PICTURE).read_text(encoding="utf-8").count("<svg") == 1


def test_a_day_beside_another_engine_compares_the_work_of_processors_and_the_rows():
    ours = Work(contender="ours", changes=60.0, upkeep=10.0, files=30, query_seconds=0.2)
    other = Work(contender="Iceberg", changes=90.0, upkeep=50.0, files=20, query_seconds=0.25)
    beside = Beside(start="a new lake", batches=10, work=(ours, other), differing_tables={"ours": [], "Iceberg": []})
    day = Day(title="Day", method="Run.", events=10, lakes=[lake_of(a_day(*range(16)))], beside=[beside])
    page = page_of(day)
    assert "| a new lake: processor seconds of 10 batches |" in page
    assert "| ours | 60 | 10 | 70 | 7.00 | 30 | 0.20 |" in page
    assert "| Iceberg | 90 | 50 | 140 | 14.00 | 20 | 0.25 |" in page
    assert "ours / Iceberg: 0.50 (aim 0.7: met)." in page
    assert "were the same in the end" in page
    assert day.disagreements == []
    wrong = replace(beside, differing_tables={"ours": [], "Iceberg": ["sales"]})
    assert "**Rows differ: Iceberg (sales). The work is not comparable.**" in page_of(replace(day, beside=[wrong]))
