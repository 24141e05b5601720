"""A whole company in one lake, through a real Airflow: every step is compared with what the lake must hold then.

Sales, orders, accounts and rates arrive; some change, and a rate is corrected; a customer is erased; a table is added
at the source; the SQL of a mart is changed by a plan. The lake is the shipped include/lakes/company.yaml.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from local_stack.console import say
from local_stack.demos.chain import Chain
from local_stack.demos.company_check import compare, format_comparison
from local_stack.demos.company_data import Company, by_topic, land
from local_stack.demos.demo import INGEST_CRON, Steps
from local_stack.demos.demo_data import DemoFolders
from local_stack.demos.job_command import run_job, write_report
from local_stack.demos.lake_view import read_with_rust
from local_stack.errors import SetupError
from local_stack.lakes import make_lakes, of_one_lake
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.services import run_path
from local_stack.servers.stack import Stack
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.timeline import Timeline

NOT_THE_TRUTH = 1
CUSTOMER = 1
"""Who is erased."""
RETURNS = "  - {name: returns, from: {database: shop, table: returns}, key: [id]}\n"
_FAST = "fast_layer"
_LEAST = Decimal(1000)
_LEAST_SALE = ("    AND s.contract_subtotal >= 1000\n", "GROUP BY DATE_FORMAT")
"""A line of the SQL of ``sales_by_segment``, and what it is put before."""


@dataclass
class CompanyLake:
    """The company, its lake, and what was wrong with it so far."""

    company: Company
    folders: DemoFolders
    settings: Settings
    spec_file: Path
    environ: Mapping[str, str]
    steps: Steps
    wrong: list[str]
    arrivals: int = 0

    @property
    def spec(self) -> LakeSpec:
        """As its file is now."""
        return load_lake_spec(str(self.spec_file))

    def land(self, events: Mapping[str, list[bytes]]) -> None:
        """Files of the company's databases arrive."""
        self.arrivals += 1
        land(events, self.folders.landing, f"arrival-{self.arrivals}")

    def load_rates(self, days: int) -> None:
        """The finance department's file of rates, with new ones of some days, is loaded."""
        file = self.spec_file.parent / "rates.csv"
        file.write_text(self.company.correct_rates(days), encoding="utf-8")
        run_job(["load", "--table", "exchange_rates", "--from", str(file)], self.environ)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of a table, none of one that was never made."""
        path = self.settings.table_path(table)
        return read_with_rust(path) if Timeline(table=table, path=path).last else []

    def compare(self, title: str) -> None:
        """Print how every table compares with what it must hold."""
        compared = compare(self.company, self.rows)
        self.steps.report(title)
        print(f"\n{format_comparison(compared)}\n", flush=True)
        self.wrong += [f"after '{title}' {table}: {wrong}" for table, _, wrong in compared if wrong]

    def check_forgotten(self, name: str) -> None:
        """No table names the person, in any column."""
        for table in self.spec.table_names:
            count = sum(name in map(str, row.values()) for row in self.rows(table))
            self.wrong += [f"{table} still names {name} in {count} rows"] if count else []


def run(argv: list[str]) -> int:
    """Run the company's demo; 0 when every step gave what it must, 1 when not."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack company", description=__doc__)
    parser.add_argument("--size", type=int, default=20, help="how many of everything there are (default 20)")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same company (default 7)")
    options = parser.parse_args(argv)
    if options.size < 1:
        raise SetupError("--size has to be 1 at least; give a larger number")
    steps, folders = Steps(), DemoFolders.from_environment(os.environ, "company")
    stack_folder = run_path(os.environ) / "company"
    environ = {
        **of_one_lake(os.environ),
        "LAKEHOUSE_BASE_PATH": str(folders.base),
        "LAKEHOUSE_LANDING_PATH": str(folders.landing),
        "LAKEHOUSE_LAKE_SPEC": str(stack_folder / "include" / "lakes" / "company.yaml"),
    }
    environ.pop("LAKEHOUSE_SPARK_REMOTE", None)
    stack = Stack(stack_folder, environ=environ)
    if stack.is_running:
        raise SetupError(f"it runs already in {stack_folder}; wait for it, or set LAKEHOUSE_RUN_PATH to another folder")
    spec_file = _copy_spec(stack_folder)
    folders.recreate()
    stack.airflow.forget_runs()
    settings = Settings.from_environment(environ)
    lake = CompanyLake(
        company=Company(rng=random.Random(options.seed), size=options.size),
        folders=folders,
        settings=settings,
        spec_file=spec_file,
        environ=environ,
        steps=steps,
        wrong=[],
    )
    with stack.folder.stopping():
        _follow(lake, stack)
    say(f"pictures of the lake: {write_report(folders.base, environ)}")
    for line in lake.wrong:
        say(f"WRONG {line}")
    steps.report("done: every step gave what it must" if not lake.wrong else f"{len(lake.wrong)} differences")
    return NOT_THE_TRUTH if lake.wrong else 0


def _copy_spec(folder: Path) -> Path:
    """The shipped lake spec and its marts, in a folder where they can be changed."""
    include = folder / "include"
    if include.exists():
        shutil.rmtree(include)
    (include / "lakes").mkdir(parents=True)
    shutil.copytree(PROJECT_ROOT / "include" / "company", include / "company")
    return Path(shutil.copy(PROJECT_ROOT / "include" / "lakes" / "company.yaml", include / "lakes"))


def _follow(lake: CompanyLake, stack: Stack) -> None:
    """The company's days, one after the other."""
    company, steps = lake.company, lake.steps
    make_lakes(lake.environ)
    lake.land(company.change())
    lake.load_rates(9)
    steps.report("sales, accounts, products, orders and invoices are landed, and rates are loaded")
    stack.start(ingest_cron=INGEST_CRON)
    steps.report(f"Spark Connect at {stack.spark_remote}, Airflow at {stack.airflow.url}; the scheduler takes over")
    chain = Chain(stack.airflow.api, report=steps.report_run)
    lake.environ = {**lake.environ, "LAKEHOUSE_SPARK_REMOTE": stack.spark_remote}
    chain.wait_for_first()
    lake.compare("tables of every kind, and marts over all of them")
    lake.land(company.change())
    chain.run_once()
    lake.compare("some of everything changed, orders and contacts were deleted")
    lake.load_rates(3)
    chain.run_once(_FAST)
    lake.compare("rates were corrected")
    name = f"Ann {CUSTOMER}"
    company.erase(CUSTOMER)
    run_job(["erase", "--customer", str(CUSTOMER), "--yes"], lake.environ)
    chain.run_once(_FAST)
    lake.compare(f"customer {CUSTOMER} was erased")
    lake.check_forgotten(name)
    text = lake.spec_file.read_text(encoding="utf-8")
    lake.spec_file.write_text(text.replace("  # Whole files", f"{RETURNS}  # Whole files"), encoding="utf-8")
    lake.land(by_topic(company.put("returns", (n,), order_id=n, reason="too small") for n in range(1, 6)))
    chain.run_once()
    lake.compare("the shop has a new table, returns, and the lake spec an entry for it")
    _change_mart(lake)


def _change_mart(lake: CompanyLake) -> None:
    """Small sales are no longer counted: a plan, a preview beside production, then the change."""
    sql = lake.spec_file.parent.parent / "company" / "sales_by_segment.sql"
    line, before = _LEAST_SALE
    sql.write_text(sql.read_text(encoding="utf-8").replace(before, line + before), encoding="utf-8")
    plan = str(lake.spec_file.parent / "plan.yaml")
    lake.steps.report("the SQL of sales_by_segment is changed: sales below 1,000 are no longer counted")
    run_job(["plan", "--output", plan], lake.environ, is_shown=True)
    run_job(["preview", "--plan", plan], lake.environ, is_shown=True)
    lake.compare("the change was planned and previewed, and every table is as it was")
    run_job(["apply", "--plan", plan], lake.environ)
    lake.company.least_sale = _LEAST
    lake.compare("the change was applied")
