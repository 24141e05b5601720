"""The demo: generated events through a real Airflow scheduler into the lake, checked against the generator's truth.

Then one correction is followed through all three layers, and Great Expectations checks the expectations of every table.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from local_stack.console import say
from local_stack.demos.chain import Chain
from local_stack.demos.correction import choose_correction, land_correction
from local_stack.demos.demo_data import TOPIC, Arrivals, DemoFolders, build_parser
from local_stack.demos.demo_report import build_quality, build_report
from local_stack.demos.job_command import write_report
from local_stack.demos.lake_view import check_lake, rows_of, view_lake
from local_stack.demos.layer_changes import build_changes, check_correction, read_marts
from local_stack.demos.truth_check import Truth
from local_stack.errors import SetupError
from local_stack.lakes import of_one_lake
from local_stack.servers.airflow_api import DagRun
from local_stack.servers.services import run_path
from local_stack.servers.stack import Stack
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

INGEST_CRON = "0 * * * *"
"""The first arrival is taken by the clock; the demo triggers the others, so that it need not wait for the clock."""
SLOW_LAYER, QUALITY = "slow_layer", "data_quality"
NOT_THE_TRUTH = 1
ALL_IS_WELL = (
    "done: every table equals the generator's truth, read by Spark and by the Rust reader, and the correction went "
    "through all layers"
)


class Steps:
    """One line a step, with the time since the start."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def report(self, text: str) -> None:
        """Print one line."""
        say(f"[{time.monotonic() - self._begun:6.1f} s] {text}")

    def report_run(self, run: DagRun) -> None:
        """Print how a DAG run ended."""
        self.report(f"  {run.dag_id:<13} {run.run_type:<16} {run.state} in {run.seconds:.1f} s")


def run(argv: list[str]) -> int:
    """Run the demo; 0 when every table is the truth by both readers and the correction arrived, 1 when not."""
    options = build_parser("demo", __doc__, events=50_000, arrivals=4).parse_args(argv)
    steps = Steps()
    arrivals = Arrivals(events=options.events, count=options.arrivals, seed=options.seed)
    folders = DemoFolders.from_environment(os.environ)
    places = {"LAKEHOUSE_BASE_PATH": str(folders.base), "LAKEHOUSE_LANDING_PATH": str(folders.landing)}
    environ = {**of_one_lake(os.environ), **places}
    environ.pop("LAKEHOUSE_SPARK_REMOTE", None)
    settings = Settings.from_environment(environ)
    spec = load_lake_spec(settings.lake_spec)
    stack = Stack(run_path(os.environ) / "demo", environ=environ)
    if stack.is_running:
        raise SetupError(
            f"a demo runs already in {stack.folder.path}; wait for it, or set LAKEHOUSE_RUN_PATH to another folder"
        )
    folders.recreate()
    stack.airflow.forget_runs()
    with stack.folder.stopping():
        chain = Chain(stack.airflow.api, report=steps.report_run)
        _take_in(arrivals, folders, environ, stack, chain, steps)
        steps.report("every run is done; reading every table with Spark and with the Rust reader")
        views = view_lake(spec, replace(settings, spark_remote=stack.spark_remote))
        truth = Truth.load(settings.landing_path, TOPIC)
        wrong = check_lake(views, truth, spec)
        steps.report("compared with the generator's truth; now one correction")
        correction = choose_correction(views, datetime.now(UTC))
        before = read_marts(spec, settings)
        land_correction(correction, views, spec, folders.landing / TOPIC, sequence=truth.events)
        steps.report(f"the ERP corrects: {correction}")
        chain.run_once()
        chain.run_once(SLOW_LAYER)
        after = read_marts(spec, settings)
        wrong += check_correction(correction, before, after)
        steps.report("read the marts once more; now Great Expectations checks the expectations of every table")
        validated = stack.airflow.api.result(QUALITY, chain.run_once(QUALITY), "validate")
        steps.report("checked; stopping Spark and Airflow")
    quality = JobResult.from_json(json.dumps(validated))
    # Names are made up, so that all agents are named.
    pictures = write_report(folders.base, environ, "agent")
    print(f"\n{build_report(spec, views, settings, datetime.now(UTC), pictures)}", flush=True)
    print(f"\nOne correction through all layers: {correction}\n", flush=True)
    print(f"{build_changes(spec, correction, before, after)}\n", flush=True)
    print(f"{build_quality(quality, rows_of(views, spec.quarantine, 'spark'))}\n", flush=True)
    for line in wrong:
        say(f"WRONG {line}")
    steps.report(f"the tables are NOT what they should be: {len(wrong)} differences" if wrong else ALL_IS_WELL)
    return NOT_THE_TRUTH if wrong else 0


def _take_in(
    arrivals: Arrivals, folders: DemoFolders, environ: Mapping[str, str], stack: Stack, chain: Chain, steps: Steps
) -> None:
    """Start the stack and let the scheduler follow every arrival to the end of the chain."""
    made = arrivals.deliver(1, environ)
    steps.report(f"arrival 1 of {arrivals.count}: {made.counters['events']:,} events in {folders.landing}")
    stack.start(ingest_cron=INGEST_CRON)
    steps.report(f"Spark Connect at {stack.spark_remote}, Airflow at {stack.airflow.url}; the scheduler takes over")
    chain.wait_for_first()
    for number in range(2, arrivals.count + 1):
        made = arrivals.deliver(number, environ)
        steps.report(f"arrival {number} of {arrivals.count}: {made.counters['events']:,} events")
        chain.run_once()
    steps.report("the slow layer waits for its clock; starting it now")
    chain.run_once(SLOW_LAYER)
