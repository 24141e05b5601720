"""Law 6 over tables of every kind: the shipped company's marts equal a plain computation after every round.

Sales come as a wide log, accounts, products, orders and their lines as tables of databases, rates as files. In a round
some of everything changes, also what was sold long ago: a product gets another category, an account another segment, a
rate is corrected, an order deleted. Marts read marts. Some runs die on the way.
"""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from local_stack.demos.company_check import differences
from local_stack.demos.company_data import Company, land
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.contexts import CLOCK
from tests.support.crashes import CRASHES, run_and_crash
from tests.support.lakes import SpecLake, write_spec

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="laws-marts")]
CASES = [(0, 2, False), (1, 5, True)]
"""Seeds, rounds, and whether all is computed again in the end."""


def make_company(spark, folder: Path) -> SpecLake:
    text = (PROJECT_ROOT / "include" / "lakes" / "company.yaml").read_text(encoding="utf-8")
    document = yaml.safe_load(text.replace("../company", str(PROJECT_ROOT / "include" / "company")))
    (folder / "landing").mkdir()
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


@pytest.mark.parametrize(("seed", "rounds", "is_whole"), CASES)
def test_marts_over_all_kinds_of_tables_equal_a_plain_computation(
    spark, tmp_path: Path, seed: int, rounds: int, is_whole: bool
):
    rng = random.Random(f"company/{seed}")
    lake, company = make_company(spark, tmp_path), Company(rng=rng)
    for number in range(rounds):
        clock = CLOCK + timedelta(hours=number)
        land(company.change(), lake.folder / "landing", f"round-{number}")
        file = lake.folder / f"rates-{number}.csv"
        file.write_text(company.correct_rates(4), encoding="utf-8")
        lake.run("ingest", clock=clock)
        if rng.random() < 0.5:
            run_and_crash(lake, "split", rng.choice(CRASHES["split"]), clock=clock)
        lake.run("split", clock=clock)
        lake.run("load", clock=clock, table="exchange_rates", from_path=str(file))
        if rng.random() < 0.5:
            run_and_crash(lake, "mart", rng.choice(CRASHES["mart"]), clock=clock, layer="fast")
        lake.run("mart", clock=clock, layer="fast")
        assert not differences(company, lake.rows)
    if is_whole:
        before = lake.instants()
        assert lake.run("mart", clock=clock, layer="fast", full=True).status == "nothing_to_do", "full is no different"
        assert lake.instants() == before
