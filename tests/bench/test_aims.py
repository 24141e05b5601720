"""The table of aims, from files of parts: each figure beside what it was and what it should be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bench import growth, kafka, landing, mirrors
from bench.aims import ADRS, AIMS, aims_section
from bench.day_beside import NEW
from bench.day_report import Beside, Day, Work
from bench.parts import PARTS
from bench.report import Conditions, Figures, Found, Race, Races, to_json

CONDITIONS = Conditions(started_at="2026-11-30T10:00:00+00:00", cores=2, load_at_start=(0, 0, 0), load_at_end=(1, 1, 1))

OF_A_DAY = (("ours", 70.0), ("Iceberg", 90.0))


def race_of(title: str, subject: str, seconds: Mapping[str, list[float]], **more: Any) -> Race:
    return Race(
        title=title,
        method="",
        subject=subject,
        aims={},
        rows_scale=1,
        warm_ups=1,
        seconds=seconds,
        differing_tables={},
        **more,
    )


def section(**found: Found) -> str:
    documents = {part: json.loads(json.dumps(to_json(each, CONDITIONS))) for part, each in found.items()}
    return re.sub(r"\[(ADR \d+)\]\([^)]+\)", r"\1", "\n".join(aims_section(documents)))


def test_each_figure_is_of_a_part_that_can_be_run_and_has_a_page_of_its_limits():
    assert {aim.part for aim in AIMS} <= set(PARTS)
    pages = [path.name[:4] for path in ADRS.glob("*.md")]
    assert {pages.count(f"{aim.limits:04}") for aim in AIMS} == {1}


def test_what_was_not_measured_names_the_command():
    lines = section().splitlines()
    assert "| W1 / Parquet append | 3.3 | not measured: `python -m bench w1` | 2 |  |  |" in lines
    assert sum("not measured" in line for line in lines) == len(AIMS)


def test_a_part_that_lacks_the_contender_is_not_measured():
    w1 = race_of("W1", "ours", {"ours": [2.0, 2.0, 3.0], "Parquet append": [1.0, 1.0, 1.0]})
    lines = section(w1=w1).splitlines()
    assert "| W1 / Parquet append | 3.3 | 2 | 2 | met |  |" in lines
    assert "| W1, slowest round / median | 1.9 | 1.50 | 1.30 | not met | ADR 67 |" in lines
    assert "| W1 / Iceberg MERGE, merge-on-read | 0.90 | not measured: `python -m bench w1` | 0.50 |  |  |" in lines


def test_the_slowest_round_has_the_maintenance_after_it():
    seconds = {"ours": [2.0, 2.0, 3.0], "Parquet append": [1.0, 1.0, 1.0]}
    w1 = race_of("W1", "ours", seconds, upkeep={"ours": [0.0, 2.0, 0.5], "Parquet append": [9.0, 9.0, 9.0]})
    assert "| W1, slowest round / median | 1.9 | 2 | 1.30 | not met | ADR 67 |" in section(w1=w1).splitlines()


def test_growth_is_of_seconds_and_of_bytes_read():
    _, smaller, larger = growth.RACES[growth.HUNDREDFOLD]
    seconds, megabytes = {smaller: [2.0], larger: [2.2]}, {smaller: [30.0, 50.0, 40.0], larger: [90.0, 100.0, 70.0]}
    race = race_of(growth.HUNDREDFOLD, larger, seconds, read_mb=megabytes)
    lines = section(growth=Races(title="Growth", method="", races=[race])).splitlines()
    assert f"| {growth.HUNDREDFOLD} |  | 1.10 | 1.20 | met |  |" in lines
    assert f"| {growth.HUNDREDFOLD}: bytes read | about 100 | 2.25 | 1.50 | not met | ADR 70 |" in lines
    assert any(line.startswith(f"| {growth.TENFOLD} |") and "not measured" in line for line in lines)


@pytest.mark.parametrize(
    ("ours", "cells"), [(5.0, "0.40 | at least 0.60 | not met | ADR 66"), (2.0, "1 | at least 0.60 | met | ")]
)
def test_rates_are_to_be_large(ours: float, cells: str):
    race = race_of("1,000 messages", kafka.INGEST, {kafka.INGEST: [ours], kafka.COLUMNS: [2.0]})
    found = section(kafka=Races(title="Kafka", method="", races=[race]))
    assert f"| Kafka to the log, rate / `from_json` to Parquet | 0.20 | {cells} |" in found.splitlines()


def test_a_table_of_mirrors_takes_its_share_of_both_jobs():
    seconds = {mirrors.TOGETHER: [30.0], mirrors.ALONE: [200.0], mirrors.INGEST: [14.0]}
    found = section(mirrors=race_of("100 mirrors, 1,000 changes of each", mirrors.TOGETHER, seconds))
    assert "| 100 mirrors, seconds a table | 2.0 | 0.44 | 0.50 | met |  |" in found.splitlines()


def test_spark_jobs_are_counted_and_tasks_measured():
    values = {landing.jobs_of("split"): 14.0, landing.share_of(*landing.TO_TABLES): 0.41}
    figures = Figures(title="Landing", method="", what="figure", unit="", values=values, aims={})
    lines = section(landing=figures).splitlines()
    assert "| split, Spark jobs | 28 | 14 | 12 | not met | ADR 67 |" in lines
    assert "| Landing to tables, processors' time in tasks | 0.1 to 0.18 | 0.41 | at least 0.40 | met |  |" in lines


def test_a_day_is_measured_by_its_work_beside_iceberg():
    alone = Day(title="Day", method="", events=10, lakes=[])
    figure = "| A day of a new lake with services, processor seconds / Iceberg merge-on-read with its own maintenance |"
    assert f"{figure}  | not measured: `python -m bench day` | 0.70 |  |  |" in section(day=alone).splitlines()
    work = [Work(contender=name, changes=each, upkeep=10.0, files=1, query_seconds=1.0) for name, each in OF_A_DAY]
    beside = Beside(start=NEW, batches=10, work=work, differing_tables={})
    assert f"{figure}  | 0.80 | 0.70 | not met | ADR 70 |" in section(day=replace(alone, beside=[beside])).splitlines()
