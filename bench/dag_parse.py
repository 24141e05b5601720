"""What one pass over a DAG file costs Airflow's DAG processor, and what it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
seconds = {}
for file in sys.argv[1:]:
    began = time.perf_counter()
    bag = DagBag(dag_folder=file)
    seconds[file] = time.perf_counter() - began
    if bag.import_errors or not bag.dags:
        sys.exit(f"{file}: {bag.import_errors or 'no DAG'}")
print(json.dumps({"seconds": seconds, "pyspark": "pyspark" in sys.modules}))
"""
_METHOD = """\
Every file parsed once, each in a new process in which Airflow itself is loaded, as a DAG processor has it."""


def measure_dag_parse(folder: Path) -> Figures:
    """Seconds to parse each DAG file; SettingsError when one cannot be parsed."""
    seconds: dict[str, float] = {}
    with_pyspark = []
    for file in sorted((PROJECT_ROOT / "dags").glob("*.py")):
        found = _parse(file, folder)
        seconds[file.name] = found["seconds"][str(file)]
        if found["pyspark"]:
            with_pyspark.append(file.name)
    note = f"pyspark was loaded by: {', '.join(with_pyspark)}." if with_pyspark else "pyspark was loaded by none."
    return Figures(
        title="Parsing the DAG files",
        method=_METHOD,
        what="file",
        unit="s",
        values=seconds,
        aims=dict.fromkeys(seconds, AIM_SECONDS),
        notes=(note,),
    )


def _parse(file: Path, folder: Path) -> dict[str, dict[str, float]]:
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
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found
