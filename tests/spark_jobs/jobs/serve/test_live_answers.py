"""Five micro-batches go through every job to the live answers, while dashboards poll each kind of serving store.

In batch n all agents say a contract subtotal of n for the one sale they have. So everything a dashboard sees at one
moment must say the same n: totals of the fast and of the stitch layer, the events of the hour, and the instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.contexts import context_of, run_in
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake
from tests.support.serving import SERVERS, Dashboard, Place, database_of, file_of

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.slice(name="databases")]

BATCHES, AGENTS = 5, 40
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
VALUES = {
    "fast_hourly_events": "events",
    "fast_daily_deals": "contract_total",
    "stitch_agent_contracts": "contract_total",
}
"""The column of each live mart that says which batch it is."""


@pytest.fixture
def places(request: pytest.FixtureRequest, tmp_path: Path) -> list[Place]:
    """An empty database of each kind."""
    return [file_of(tmp_path / "live.sqlite"), *(database_of(request.getfixturevalue(name)) for name in SERVERS)]


def batch(number: int) -> Iterator[bytes]:
    """An event of every agent's sale."""
    at_ms = int((NOON + timedelta(seconds=number)).timestamp() * 1000)
    for agent in range(1, AGENTS + 1):
        same = dict.fromkeys(("SaleId", "AgentId", "UnitId", "ProjectId"), agent)
        row = {**same, "StatusId": 8, "ContractSubtotal": f"{number}.0000", "ContractSigningDate": at_ms}
        yield line(sqlserver("u", row, number * AGENTS + agent, ts_ms=at_ms))


def test_dashboards_see_one_batch_at_a_time_and_its_instant(lake: Lake, places: list[Place]):
    instants: dict[str, list[str]] = {mart: [] for mart in VALUES}
    with ExitStack() as stack:
        watching: dict[str, list[Dashboard]] = {mart: [] for mart in VALUES}
        for number in range(1, BATCHES + 1):
            clock = NOON + timedelta(minutes=number)
            lake.land(f"{number}.jsonl", batch(number))
            lake.run("ingest", clock=clock)
            lake.run("split", clock=clock)
            for layer in ("fast", "stitch"):
                lake.run("mart", clock=clock, layer=layer)
            for place in places:
                settings = replace(lake.settings, serving_url=place.url)
                result = run_in(context_of("serve", settings, spark=lake.spark, clock=clock, layer=["fast,stitch"]))
            served = {outcome.table: str(outcome.instant) for outcome in result.tables}
            for mart, known_instants in instants.items():
                known_instants.append(served[mart])
            if number == 1:
                for mart, value in VALUES.items():
                    sql = f"SELECT {value}, instant FROM {mart} JOIN served_marts ON mart = '{mart}'"
                    watching[mart] = [stack.enter_context(Dashboard(place, sql, pause_seconds=1)) for place in places]
        for dashboard in (each for dashboards in watching.values() for each in dashboards):
            dashboard.wait_for_next_query()
    for mart, dashboards in watching.items():
        assert len(set(instants[mart])) == BATCHES, mart
        known = dict(zip(instants[mart], range(1, BATCHES + 1), strict=True))
        for dashboard in dashboards:
            seen = [{(Decimal(value), instant) for value, instant in answer} for answer in dashboard.answers]
            assert seen == [{(Decimal(known[instant]), instant)} for ((_, instant),) in seen], mart
            assert [len(answer) for answer in dashboard.answers] == [AGENTS] * len(seen), mart
            numbers = [known[instant] for ((_, instant),) in seen]
            assert numbers == sorted(numbers), "a dashboard went back in time"
            assert (numbers[0], numbers[-1]) == (1, BATCHES)
            assert len(numbers) > BATCHES // 2
