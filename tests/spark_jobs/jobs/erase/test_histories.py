"""A person is erased from histories and from marts over versions, as if the events had never named them.

Agent 777001 was called by two names and signed sale 1, which went to agent 18 later; sale 2 was theirs to the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import oracle
from tests.support.contexts import CLOCK
from tests.support.envelopes import line, sqlserver
from tests.support.erasures import AGENT, AGENT_NAMES, erased, traces
from tests.support.lakes import SpecLake, read_shipped_spec, write_spec
from tests.support.oracle_versions import in_order, of_the_wide_log, versions_of
from tests.support.versioned_marts import LAYER, assert_versioned_marts_are_right, write_marts

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="jobs")]

LINES = [
    line(sqlserver("c", {"SaleId": 1, "AgentId": AGENT, "AgentName": AGENT_NAMES[0], "StatusId": 1}, 10)),
    line(sqlserver("u", {"SaleId": 1, "AgentId": AGENT, "AgentName": AGENT_NAMES[1], "StatusId": 2}, 20)),
    line(sqlserver("u", {"SaleId": 1, "AgentId": 18, "AgentName": "Bob"}, 30)),
    line(sqlserver("c", {"SaleId": 2, "AgentId": AGENT, "StatusId": 1}, 40)),
    line(sqlserver("d", {"SaleId": 2, "AgentId": AGENT}, 50)),
]


def test_no_version_of_them_is_left_and_every_other_is_as_it_was(spark, tmp_path: Path):
    document = read_shipped_spec(("agents", "sales"))
    del document["expectations"]
    document["marts"] = "marts"
    for table in document["tables"]:
        table["history"] = True
    (tmp_path / "landing").mkdir()
    write_marts(tmp_path)
    lake = SpecLake(spark=spark, folder=tmp_path, spec=write_spec(tmp_path, document))
    for name, lines in (("first", LINES[:2]), ("second", LINES[2:])):
        lake.land(f"{name}.jsonl", lines)
        lake.run("ingest")
        lake.run("split")
        lake.run("mart", layer=LAYER)
    lake.run("savepoint", action="create", label="day", keep=None)

    lake.run("erase", agent=str(AGENT), yes=True)

    events, _ = oracle.read_lines(LINES)
    left = erased(events, "agent_id", "agent_name", AGENT, AGENT_NAMES)
    lake.run("query", sql="SELECT 1 AS one", rows=1)
    for table in ("agents", "sales"):
        _, columns = oracle.TABLES[table]
        found = in_order(lake.spark.table(f"{table}_versions").collect())
        assert found == versions_of(of_the_wide_log(left, table), columns), table
    assert not any(path.startswith("lake/") for path in traces(tmp_path, (str(AGENT), *AGENT_NAMES)))
    assert_versioned_marts_are_right(lake)
    for again in (lake.run("split", clock=CLOCK), lake.run("mart", clock=CLOCK, layer=LAYER)):
        assert again.status == "nothing_to_do", again.job
