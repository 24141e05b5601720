"""What one pass over a DAG file costs Airflow's DAG processor, and what it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.report import Figures
from local_stack.errors import find_reason
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT

AIM_SECONDS = 1.0
_PROBE = """
import json, sys, time
from airflow.dag_processing.dagbag import DagBag
from airflow.plugins_manager import _get_plugins
_get_plugins()
began = time.perf_counter()
bag = DagBag(dag_folder=sys.argv[1])
seconds = time.perf_counter() - began
if bag.import_errors:
    sys.exit(str(bag.import_errors))
print(json.dumps({"seconds": seconds, "dags": len(bag.dags), "pyspark": "pyspark" in sys.modules}))
"""
_METHOD = """\
Every file parsed once, each in a new process in which Airflow itself is loaded, as a DAG processor has it."""


def measure_dag_parse(folder: Path) -> Figures:
    """Seconds to parse each DAG file; SettingsError when one cannot be parsed."""
    found = {file.name: _parse(file, folder) for file in sorted((PROJECT_ROOT / "dags").glob("*.py"))}
    seconds = {name: each["seconds"] for name, each in found.items()}
    notes = (
        f"pyspark was loaded by: {_names(found, lambda each: each['pyspark'] > 0)}.",
        f"No DAG is in: {_names(found, lambda each: not each['dags'])}.",
    )
    return Figures(
        title="Parsing the DAG files",
        method=_METHOD,
        what="file",
        unit="s",
        values=seconds,
        aims=dict.fromkeys(seconds, AIM_SECONDS),
        notes=notes,
    )


def _names(found: Mapping[str, Mapping[str, float]], is_so: Callable[[Mapping[str, float]], bool]) -> str:
    return ", ".join(name for name, each in found.items() if is_so(each)) or "none"


def _parse(file: Path, folder: Path) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT_ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT_ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(file)], env=environment, cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise SettingsError(f"{file.name} cannot be parsed: {find_reason(done.stderr)}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
