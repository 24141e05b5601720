"""Which column names a row of which table."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.lake_docs.relations import Relation, relations_of
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from tests.support.seen_lakes import SPEC


def test_keys_of_tables_of_the_wide_log_are_found_by_their_names_and_marts_by_what_they_look_up():
    found = {(each.table, each.column, each.target): each.says for each in relations_of(SPEC)}
    assert found == {
        ("sales", "agent_id", "agents"): "the key of agents",
        ("sales", "customer_id", "customers"): "the key of customers",
        ("sales", "status_id", "statuses"): "the key of statuses",
        ("sales", "unit_id", "units"): "mart fast_daily_deals",
        ("units", "building_id", "buildings"): "the key of buildings",
        ("units", "project_id", "projects"): "the key of projects",
    }


def test_an_expectation_says_it_too_and_one_of_no_table_does_not():
    def refers(target: str) -> Expectation:
        return Expectation(
            table="sales",
            name="known_status",
            kind=Kind.REFERS_TO,
            action=Action.WARN,
            columns=("status_id",),
            refers_to=target,
        )

    spec = replace(SPEC, expectations=(*SPEC.expectations, refers("statuses.status_id")))
    wanted = Relation(table="sales", column="status_id", target="statuses", says="expectation known_status")
    assert wanted in relations_of(spec)
    assert relations_of(replace(SPEC, expectations=(refers(f"{SPEC.log}.status_id"),))) == relations_of(SPEC)
