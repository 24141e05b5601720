"""A serving store with rows in the shapes of the shipped lake's served marts and tables, written by the store itself.

Names are missing where the lake may not know them: a project without a name, deals of a project that no table has,
statuses that no row of the names has. The agent 0 is the stand-in for everybody who was erased.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

from pyspark.sql import types as T

from spark_jobs.storage.serving.store import ServingStore
from tests.support.serving import keyed, state
from tests.support.superset import Rows

DAY, MONTHS = "2026-01-04", ("2025-11", "2025-12", "2026-01")
AGENTS, UNITS, PROJECTS = (0, 1, 2, 3, 4, 5), tuple(range(1, 9)), (1, 2, 3, None, 99)
STATUSES = (1, 2, 8, 9, None, 77)
TEXT, WHOLE, TIME = T.StringType(), T.LongType(), T.TimestampType()
SHARE, MEAN = T.DecimalType(9, 6), T.DecimalType(18, 4)
TYPES: Mapping[str, T.DataType] = {
    **dict.fromkeys(("day", "month", "rules_version", "project_name", "unit_name", "status_name"), TEXT),
    "event_hour": TIME,
    "contract_total": T.DecimalType(38, 4),
    "performance": T.DecimalType(38, 6),
    **dict.fromkeys(("share_signed", "success_rate"), SHARE),
    "mean_steps": MEAN,
}
"""Types of columns that are no whole numbers."""


def make_rows(seed: int) -> dict[str, Rows]:
    """Rows of every served mart and table; the same for one seed."""
    rng = random.Random(seed)

    def amount(digits: int = 4) -> Decimal:
        return Decimal(rng.randrange(10**9)).scaleb(-digits)

    def some(values: Any, most: int) -> list[Any]:
        every = list(values)
        return rng.sample(every, min(most, len(every)))

    days = [
        {"day": DAY, "project_id": project, "agent_id": agent, "deals": rng.randrange(1, 9), "contract_total": amount()}
        for project, agent in some(product(PROJECTS, AGENTS), 20)
    ]
    hours = [
        {"event_hour": hour, "project_id": project, "status_id": status, "events": rng.randrange(1, 500)}
        for hour, project, status in some(product(_hours(), PROJECTS, STATUSES), 60)
    ]
    of_agents = [*product(MONTHS, AGENTS)]
    return {
        "projects": [{"project_id": key, "project_name": name} for key, name in ((1, "Ångström"), (2, "B"), (3, None))],
        "statuses": [{"status_id": key, "status_name": f"status {key}"} for key in (1, 2, 8, 9)],
        "units": [
            {"unit_id": key, "unit_name": f"unit {key}", "building_id": 1, "project_id": rng.choice(PROJECTS)}
            for key in UNITS
        ],
        "fast_daily_deals": days,
        "fast_hourly_events": hours,
        "stitch_agent_contracts": [
            {"agent_id": agent, "contracts": rng.randrange(400), "contract_total": amount()} for agent in AGENTS
        ],
        "slow_agent_success": [_success(rng, month, agent) for month, agent in of_agents],
        "slow_agent_performance": [
            {
                "month": month,
                "agent_id": agent,
                "performance": amount(6),
                "milestones": rng.randrange(90),
                "rules_version": "v1",
            }
            for month, agent in of_agents
        ],
        "slow_unit_difficulty": [
            {
                "month": month,
                "unit_id": unit,
                "sales": rng.randrange(1, 9),
                "agents": rng.randrange(1, 5),
                "mean_steps": amount(4),
                "days_on_market": rng.randrange(99),
                "signed_sales": rng.randrange(2),
                "difficulty_rank": rank,
            }
            for month in MONTHS
            for rank, unit in enumerate(some((*UNITS, 500), 6), 1)
        ],
    }


def fill(store: ServingStore, rows: Mapping[str, Rows], number: int) -> None:
    """Serve the rows of each mart and table as its n-th commit."""
    for name, values in rows.items():
        schema = T.StructType([T.StructField(column, TYPES.get(column, WHOLE)) for column in values[0]])
        values_only = [tuple(row.values()) for row in values]
        written = store.replace(state(number, name), schema, keyed(values_only), is_on_timeline=lambda _: True)
        assert written is not None
        assert written.rows == len(values)


def _hours() -> list[datetime]:
    return [datetime(2026, 1, 4, tzinfo=UTC) + timedelta(hours=number) for number in range(5)]


def _success(rng: random.Random, month: str, agent: int) -> dict[str, Any]:
    """Sales of an agent; some have no status at all, so that they count for no step."""
    steps = [rng.randrange(6) for _ in range(7)]
    sales = sum(steps) + rng.randrange(1, 3)
    closed = rng.randrange(sales) if agent else 0
    signed = rng.randrange(closed + 1)
    counts = {f"steps_{number}": count for number, count in enumerate(steps[:6], 1)}
    return {
        "month": month,
        "agent_id": agent,
        "sales": sales,
        "signed": signed,
        "closed": closed,
        "share_signed": (Decimal(signed) / sales).quantize(Decimal("1e-6")),
        "success_rate": (Decimal(signed) / closed).quantize(Decimal("1e-6")) if closed else None,
        "mean_steps": (Decimal(sum(n * count for n, count in enumerate(steps, 1))) / sales).quantize(Decimal("1e-4")),
        **counts,
        "steps_7_up": steps[6],
    }
