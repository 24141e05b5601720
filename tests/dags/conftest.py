"""Airflow is imported in this process: give it a home outside the user's."""

from __future__ import annotations

import os
import tempfile

HOME = tempfile.TemporaryDirectory(prefix="lakehouse-airflow-home-")  # removed when the process ends
os.environ["AIRFLOW_HOME"] = HOME.name
