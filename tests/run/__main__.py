"""Run a level of the test suite on every core, leave its results, or print the report of the last run.

Results are JUnit XML and JSON lines in the folder that `LAKEHOUSE_TEST_RESULTS` names, by default
`.test-results/<time>-<process id>`; the make targets set one folder for all levels of a run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.run.engines import jvm_environment
from tests.run.levels import CHECK, ON_CLUSTERS, ROOT, SHORT, SLICES, slice_expression, slice_runs
from tests.run.recorder import FOLDER, NAME
from tests.run.report import format_report
from tests.run.shared_spark import offering_spark

RESULTS = ROOT / ".test-results"
KEPT = 10
"""Runs whose results stay; older ones are removed."""
SHORT_WORKERS, WORKERS = 4, 2
"""pytest processes of `make test`'s tests with servers, which wait a lot, and of any other run.

Two saturate two cores with pure Python. Of slices many start an Airflow: three at once on two cores take longer than
one after the other.
"""
LIMITS = {"slices": 1800}
"""Seconds after which a test counts as one that hangs, in runs where many compete for two cores."""


def main() -> int:
    """Run what the command line names; 0 when every test passed."""
    options = _parse()
    if options.level == "report":
        return _print_report(options.run)
    folder = Path(os.environ.get(FOLDER) or RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}").absolute()
    _keep_newest()
    if options.level == "slice":
        runs = slice_runs(options.name)
    else:
        runs = {options.level: {"check": CHECK, "short": SHORT}[options.level]}
    codes = {name: _run(name, expression, folder) for name, expression in runs.items()}
    for name, code in codes.items():
        print(f"{name}: {'passed' if code == 0 else f'FAILED (pytest exit code {code})'}")
    print(f"results: {folder}; where the time went: make test-report")
    return int(any(codes.values()))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m tests.run", description=__doc__)
    levels = parser.add_subparsers(dest="level", required=True, metavar="LEVEL")
    levels.add_parser("check", allow_abbrev=False, help="tests that need no JVM and no server")
    levels.add_parser(
        "short", allow_abbrev=False, help="tests with Spark, Hudi, servers and Airflow that every change must pass"
    )
    one = levels.add_parser("slice", allow_abbrev=False, help="a slice of the slow tests, or all of them")
    one.add_argument("name", choices=[*sorted(SLICES), "all"], help="; ".join(f"{k}: {v}" for k, v in SLICES.items()))
    report = levels.add_parser("report", allow_abbrev=False, help="where the time of a run went")
    report.add_argument("run", nargs="?", default="", help="folder of results (default: the last run's)")
    return parser.parse_args()


def _run(name: str, expression: str, folder: Path) -> int:
    """One pytest run; a selection without a test is a failure."""
    folder.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "last").write_text(str(folder), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-m", expression, f"--junitxml={folder / name}.xml"]
    workers = SHORT_WORKERS if name == "short" else WORKERS
    command += ["-n", f"{workers}", "--dist", "loadscope", "--no-loadscope-reorder"]
    command += [f"--timeout={LIMITS[name]}"] if name in LIMITS else []
    environment = {**os.environ, FOLDER: str(folder), NAME: name}
    print(f"{name}: {' '.join(command[1:5])}", flush=True)
    if name == "check":
        return subprocess.run(command, cwd=ROOT, env=environment).returncode
    environment = jvm_environment(environment, on_cluster=expression == slice_expression(ON_CLUSTERS))
    with offering_spark(environment, folder / f"{name}-spark.log") as offered:
        return subprocess.run(command, cwd=ROOT, env=offered).returncode


def _print_report(run: str) -> int:
    last = RESULTS / "last"
    if not run and not last.exists():
        print("no results yet; run: make test", file=sys.stderr)
        return 2
    folder = Path(run or last.read_text(encoding="utf-8"))
    report = format_report(folder)
    (folder / "report.txt").write_text(report + "\n", encoding="utf-8")
    print(report)
    return 0


def _keep_newest() -> None:
    runs = sorted(folder for folder in RESULTS.glob("*T*-*") if folder.is_dir())
    for folder in runs[: -(KEPT - 1)]:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
