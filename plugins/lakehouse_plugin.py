"""The only file here that Airflow imports by itself; everything else lives in the package ``lakehouse_provider``."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


class LakehousePlugin(AirflowPlugin):
    """Names the platform in Airflow's list of plugins."""

    name = "lakehouse"
