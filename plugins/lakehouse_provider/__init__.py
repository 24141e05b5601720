"""Airflow side of the lakehouse: assets, schedules and the operator that runs a job of ``spark_jobs``.

Imports ``spark_jobs.contracts`` and Airflow, never pyspark: Spark lives in the process the operator starts.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("spark_jobs") is None:  # a checkout that is not on the path: spark_jobs is beside plugins/
    sys.path.append(str(Path(__file__).resolve().parents[2]))
