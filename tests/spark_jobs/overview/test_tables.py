"""One table's page: steps, columns, partitions; on the lake of tests/support/seen_lakes.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.models import CommitKind
from spark_jobs.overview.tables import table_commits, table_overview
from tests.support.seen_lakes import NOW, RUN, SeenLake, minute, rollback, seen_lake


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    return seen_lake(tmp_path)


def test_steps_have_their_kinds_and_what_commits_say(lake: SeenLake):
    rollback(lake, "units", 5)
    lake.commit("units", 8, operationType="COMPACT")
    found = table_commits(lake.spec, lake.settings, "units", cache=LakeCache())
    assert [(each.instant, each.kind, each.state) for each in found] == [
        (minute(2), CommitKind.WRITE, "completed"),
        (minute(4), CommitKind.WRITE, "completed"),
        (minute(5), CommitKind.ROLLBACK, "completed"),
        (minute(6), CommitKind.SERVICE, "requested"),
        (minute(8), CommitKind.SERVICE, "completed"),
    ]
    second = found[1]
    assert (second.rows, second.bytes, second.files, second.run) == (3, 100, 1, RUN)
    assert second.read == {"sales_log": minute(3)}
    assert found[-1].service == "compact"


def test_only_the_newest_steps_are_given_when_there_is_a_most(lake: SeenLake):
    found = table_commits(lake.spec, lake.settings, "units", most=1, cache=LakeCache())
    assert [each.instant for each in found] == [minute(6)]
    found = table_commits(lake.spec, lake.settings, "units", after=minute(2), cache=LakeCache())
    assert [each.instant for each in found] == [minute(4), minute(6)]


def test_seconds_are_unknown_where_files_have_lost_their_times(lake: SeenLake):
    found = table_commits(lake.spec, lake.settings, "sales", cache=LakeCache())
    assert [each.seconds for each in found] == [30.0]
    Path(lake.settings.table_path("sales"), ".hoodie", f"lakehouse.moved_up_to_{minute(4)}").touch()
    found = table_commits(lake.spec, lake.settings, "sales", cache=LakeCache())
    assert [each.seconds for each in found] == [None]


def test_columns_have_their_history(lake: SeenLake):
    def schema(**types: str) -> str:
        fields = [{"name": name, "type": ["null", type_]} for name, type_ in types.items()]
        return json.dumps({"type": "record", "name": "r", "fields": fields})

    for at, columns in ((1, {"id": "long"}), (2, {"id": "long"}), (3, {"id": "string", "name": "string"})):
        extra = {"schema": schema(_hoodie_commit_time="string", **columns)}
        lake.commit("agents", at, action="deltacommit", extraMetadata=extra)
    detail = table_overview(lake.spec, lake.settings, "agents", NOW, cache=LakeCache())
    assert detail.columns == (("id", "string"), ("name", "string"))
    steps = [(each.instant, each.added, each.removed, each.retyped) for each in detail.schema_steps]
    assert steps == [
        (minute(1), (("id", "bigint"),), (), ()),
        (minute(3), (("name", "string"),), (), (("id", "bigint", "string"),)),
    ]


def test_a_tables_page_has_its_partitions_and_edges(lake: SeenLake):
    detail = table_overview(lake.spec, lake.settings, "units", NOW, cache=LakeCache())
    assert [(each.partition, each.base, each.logs) for each in detail.partitions] == [("", (1000,), (10, 10))]
    assert ("sales_log", "units") in {(edge.source, edge.target) for edge in detail.edges}
    assert all("units" in (edge.source, edge.target) for edge in detail.edges)


def test_a_table_that_the_lake_has_not_is_refused(lake: SeenLake):
    with pytest.raises(ContractError, match="has no table"):
        table_overview(lake.spec, lake.settings, "../units", NOW)
    with pytest.raises(ContractError, match="has no table"):
        table_commits(lake.spec, lake.settings, "../units")
