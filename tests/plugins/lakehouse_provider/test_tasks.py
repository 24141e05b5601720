"""Tasks that several DAGs have alike. How they hang together in each DAG: tests/dags/test_dags.py."""

from __future__ import annotations

import pytest
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from lakehouse_provider.lakes import load_lake
from lakehouse_provider.tasks import served_layer


def test_the_last_task_of_a_served_layer_fails_its_run_for_good() -> None:
    """It runs when another task failed, and is green in no case: else a run with a failed mart would be."""
    with DAG("layer", schedule=None) as dag:
        served_layer(load_lake("", {}), "fast")
    task = dag.get_task("outcome")
    assert isinstance(task, BaseOperator)
    with pytest.raises(AirflowFailException, match="a task of this run failed; its own log says why"):
        task.execute({})
