"""Limits that no load passes with the targets of services that are shipped; jobs/test_sizing.py has the others."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.sizing.limits import warnings
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.needs import Needs
from spark_jobs.sizing.simulation import Advice, simulate
from spark_jobs.sizing.weights import load_weights
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)


def long_timelines(targets: ServiceTargets) -> list[str]:
    """The warnings about timelines after ten days of a small load, a batch every five minutes."""
    load = Load(gb_per_day=0.1, batch_minutes=5, weights=load_weights())
    lake = replace(SPEC, services=targets, table_services=())
    outcomes = list(simulate(load, lake, days=[10], advice=Advice()))
    found = warnings(Needs.of(load, outcomes, lake.log))
    return [warning for warning in found if "on the timeline" in warning]


def test_commits_that_are_never_archived_are_reported_by_table():
    assert long_timelines(SPEC.services) == []
    found = long_timelines(replace(SPEC.services, archive_commits=100_000))
    assert {warning.partition(":")[0] for warning in found} >= {"sales_log", "sales"}
    assert all(warning.endswith(" on the timeline: lower archive_commits, or a consumer holds it") for warning in found)
    (log,) = (warning for warning in found if warning.startswith("sales_log: "))
    assert int(log.split()[1].replace(",", "")) >= 10 * 288
