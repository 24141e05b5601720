"""What the DAG ``table_services`` makes of a plan."""

from __future__ import annotations

from lakehouse_provider.assets import LakeAssets
from lakehouse_provider.services import due_services, retention_task, services_params
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from tests.support.loading_lakes import lake_document


def test_each_service_that_is_due_is_a_task_of_its_own() -> None:
    due = (("sales", "compaction"), ("sales_log", "clean"))
    plan = JobResult(job="services", status=DONE, clock="2026-01-01T00:00:00Z", due=due)
    fields = {"due": [list(pair) for pair in plan.due]}  # as XCom keeps it
    assert due_services.function(fields) == [
        {"table": "sales", "service": "compaction"},
        {"table": "sales_log", "service": "clean"},
    ]


def test_the_form_offers_every_table_and_service() -> None:
    spec = load_lake_spec(Settings().lake_spec)
    params = services_params(spec)
    assert params["table"].schema["enum"] == [None, *spec.table_names]
    services = ["rescale", "compaction", "clustering", "clean", "archive", "index"]
    assert params["service"].schema["enum"] == [None, *services]


def test_old_partitions_are_removed_where_a_load_says_how_old() -> None:
    assert retention_task(LakeAssets(load_lake_spec(Settings().lake_spec))) is None
    assets = LakeAssets(parse_lake_spec(lake_document()))
    retain = retention_task(assets)
    assert retain is not None
    assert (retain.task_id, retain.job, retain.arguments) == ("retain", "partitions retain", {"yes": True})
    assert retain.outlets == [assets["merged_rates"], assets["copied_rates"]]
