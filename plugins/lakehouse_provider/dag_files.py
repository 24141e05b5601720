"""The DAGs of an installed provider, for one file of an Airflow's own DAGs folder.

::

    # Airflow finds the DAGs of the lakehouse by this file.
    from lakehouse_provider.dag_files import make_dags
    make_dags()

They are the files of a checkout's DAGs folder, which the wheel has in this package.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from spark_jobs.contracts.shipped import CHECKOUT

FOLDER = (CHECKOUT or Path(__file__).parent) / "dags"
_NO_DAGS = "lake_specs.py"
"""Raises what is wrong with any of several lakes: in one file with the DAGs it would take down those of all others."""


def make_dags() -> None:
    """Run every DAG file of the package, as Airflow runs those of a DAGs folder; the DAGs are the calling file's.

    They are run, not imported: a second parse in one process makes its DAGs again. What one of them raises is raised:
    a lake that is alone and cannot be used is an import error of the calling file.
    """
    for file in sorted(FOLDER.glob("*.py")):
        if file.name != _NO_DAGS:
            runpy.run_path(str(file))
