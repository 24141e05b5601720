"""What Airflow lists of this provider, where its wheel is installed."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """The facts that ``airflow providers list`` shows; the version is the wheel's."""
    return {
        "package-name": "airflow-provider-sales-lakehouse",
        "name": "Lakehouse",
        "description": "Assets, operators, DAGs and a page for a Lambda lakehouse on Spark and Hudi.",
    }
