"""Airflow's own command line, with the settings of the Airflow that `up` left running."""

from __future__ import annotations

import os
import subprocess
import sys

from local_stack.errors import SetupError
from local_stack.servers.airflow_home import AirflowHome
from local_stack.servers.services import RunFolder, run_path


def run(argv: list[str]) -> int:
    """Run ``airflow ARGV…`` with that Airflow's settings and give its exit code. SetupError when none runs."""
    path = run_path(os.environ) / "up"
    if not path.exists() or RunFolder(path).find("api-server") is None:
        raise SetupError("no Airflow runs here; start it with make up")
    home = AirflowHome(RunFolder(path))
    return subprocess.run([sys.executable, "-m", "airflow", *argv], env=home.environment).returncode
