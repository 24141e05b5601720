"""The job `sizing` on the measured weights and the shipped lake: what it prints, warns of and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import parse_arguments, run_job
from spark_jobs.sizing.limits import warnings
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.needs import Needs
from spark_jobs.sizing.simulation import Advice, Outcome, simulate
from spark_jobs.sizing.weights import RESULTS, load_weights
from spark_jobs.spec_files.spec_file import load_lake_spec

pytestmark = pytest.mark.slice(name="tables")

SPEC = load_lake_spec(Settings().lake_spec)


def sizing(*words: str):
    return run_job(parse_arguments(["sizing", *words]))


def found_on(day: int, *, gb: float, minutes: int = 5, is_advised: bool = False) -> tuple[Needs, Sequence[Outcome]]:
    load = Load(gb_per_day=gb, batch_minutes=minutes, weights=load_weights())
    outcomes = list(simulate(load, SPEC, days=[day], advice=Advice(is_followed=is_advised)))
    return Needs.of(load, outcomes, SPEC.log), outcomes


def test_a_small_lake_passes_no_limit(capsys: pytest.CaptureFixture[str]):
    result = sizing("--gb-per-day", "0.5", "--days", "20")
    assert (result.counters, result.messages) == ({"loads": 1, "warnings": 0}, ())
    printed = capsys.readouterr().out
    assert "0.5 GB a day, every 5 minutes, as shipped" in printed
    assert "`LAKEHOUSE_MAX_EVENTS`" in printed


def test_each_size_has_its_interval():
    result = sizing("--gb-per-day", "1", "10000", "--batch-minutes", "5", "60", "--days", "1")
    assert {message.split(":")[0] for message in result.messages} == {
        "10 TB a day, every 60 minutes, as shipped",
        "10 TB a day, every 60 minutes, as advised",
    }


def limits_of(*, gb: float, day: int, minutes: int = 5, is_advised: bool = False) -> Iterator[str]:
    needs, _ = found_on(day, gb=gb, minutes=minutes, is_advised=is_advised)
    return warnings(needs)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"gb": 10, "day": 365}, "sales: 70,073 files, listed by every plan"),
        ({"gb": 10, "day": 600}, "times what landed is written, by "),
        ({"gb": 1000, "day": 365}, "sales: 32,768 buckets without a partition"),
        ({"gb": 1000, "day": 365}, "row index: "),
        ({"gb": 10_000, "day": 365}, "PUT/s to one prefix"),
    ],
)
def test_a_passed_limit_is_reported(load: dict[str, Any], message: str):
    assert any(message in warning for warning in limits_of(**load))


def test_advice_writes_less_into_fewer_buckets():
    (_, shipped), (_, advised) = found_on(365, gb=10), found_on(365, gb=10, is_advised=True)
    (shipped_sales,), (sales,) = ([each for each in found if each.table == "sales"] for found in (shipped, advised))
    assert sales.written_so_far < shipped_sales.written_so_far
    assert sales.groups < shipped_sales.groups
    assert not any("times what landed" in warning for warning in limits_of(gb=10, day=365, is_advised=True))


@pytest.mark.parametrize(("gb", "minutes"), [(10, 5), (1000, 15), (10_000, 60)])
def test_as_shipped_a_year_writes_ten_times_what_landed_at_most(gb: float, minutes: int):
    """And no reader opens more log files over a base file than it has commits in a day, and until services look."""
    needs, outcomes = found_on(365, gb=gb, minutes=minutes)
    assert needs.written_so_far <= 10
    assert max(each.log_files for each in outcomes) <= SPEC.services.compact_log_files
    assert max(each.log_files for each in outcomes) <= 24 * 60 / minutes + 2


def test_what_landed_a_day_is_in_the_log_and_every_new_row_in_its_table():
    needs, outcomes = found_on(3, gb=2)
    load = needs.load
    assert needs.log.bytes == pytest.approx(3 * load.events_a_day * load.weights.log)
    for outcome in outcomes[1:]:
        rows = load.table(load.weights.tables[outcome.table], day=3)
        assert rows.bytes * (1 - 1e-9) <= outcome.bytes <= rows.bytes + SPEC.services.compact_log_files * rows.log_bytes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gb-per-day", "-1"], "more than 0 GB a day"),
        (["--gb-per-day", "1", "2", "3", "--batch-minutes", "5", "6"], "has 2 numbers for 3 sizes"),
        (["--gb-per-day", "1", "--days", "0"], "--days 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(words: list[str], message: str):
    with pytest.raises(ContractError, match=message):
        sizing(*words)


def test_weights_that_are_not_there_say_how_to_make_them(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"run: python -m bench sizes"):
        sizing("--gb-per-day", "1", "--weights", str(tmp_path))
    (tmp_path / "sizes.json").write_text(json.dumps({"found": {"seconds": {}}}))
    with pytest.raises(LakehouseError, match="results of another form"):
        sizing("--gb-per-day", "1", "--weights", str(tmp_path))


def test_a_lake_with_tables_that_were_not_weighed_is_refused(tmp_path: Path):
    document = json.loads((RESULTS / "sizes.json").read_text())
    document["found"] |= {"tables": document["found"]["tables"][:2]}
    (tmp_path / "sizes.json").write_text(json.dumps(document))
    with pytest.raises(ContractError, match=r"tables \['projects', 'statuses', .*'sales'\] were not weighed"):
        sizing("--gb-per-day", "1", "--weights", str(tmp_path))
