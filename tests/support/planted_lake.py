"""A lake as its readers see it, in a few rows, in which every shipped check finds something, and what it finds.

Rows without a remark are right. All happened on 5 January 2026; sales 1 to 15 each have an event at ten o'clock, but 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]


def at(hour: int, day: int = 5) -> datetime:
    return datetime(2026, 1, day, hour, tzinfo=UTC).replace(tzinfo=None)


TEN, JAN, FEB, MAR, APR = at(10), "2026-01", "2026-02", "2026-03", "2026-04"
DAY = "2026-01-05"


def event(id_: str, sale: int | None = 1, *, op: str = "c", time: datetime = TEN, day: str = "", **ids: int) -> Row:
    named = (ids.get(name) for name in ("unit", "building", "project", "status", "agent", "customer"))
    return id_, op, f"order-{id_}", time, sale, *named, at(11), day or f"{time:%Y-%m-%d}"


def sale(id_: int, unit: Any = None, status: Any = 1, total: Any = None, signed: Any = None, **who: int) -> Row:
    return id_, unit, status, None if total is None else Decimal(total), signed, who.get("agent"), who.get("customer")


def path(id_: int, statuses: list[int], month: str = JAN, *, steps: int | None = None, **known: Any) -> Row:
    names = ("is_signed", "signed_at", "unit_id", "agent_id", "customer_id", "contract_subtotal")
    of_sale = {"is_signed": False, **known}
    count, last = len(statuses) if steps is None else steps, statuses[-1] if statuses else 1
    return id_, month, TEN, statuses, [TEN for _ in statuses], count, last, *(of_sale.get(name) for name in names)


def success(month: str, agent: int, *, signed: int = 0, share: int = 0) -> Row:
    return month, agent, 1, signed, 1, 0, 1, 0, 0, 0, 0, 0, Decimal(share), None


SCHEMAS: Mapping[str, str] = {
    "sales_log": "event_id string, op string, event_order string, event_time timestamp, sale_id bigint, "
    "unit_id bigint, building_id bigint, project_id bigint, status_id bigint, agent_id bigint, customer_id bigint, "
    "ingest_time timestamp, event_date string",
    "units": "unit_id bigint, unit_name string, building_id bigint, project_id bigint",
    **{
        many: f"{one}_id bigint, {one}_name string"
        for one, many in zip(
            ("building", "project", "status", "agent", "customer"),
            ("buildings", "projects", "statuses", "agents", "customers"),
            strict=True,
        )
    },
    "sales": "sale_id bigint, unit_id bigint, status_id bigint, contract_subtotal decimal(18,4), "
    "contract_signing_date timestamp, agent_id bigint, customer_id bigint",
    "fast_hourly_events": "event_hour timestamp, project_id bigint, status_id bigint, events bigint",
    "fast_daily_deals": "day string, project_id bigint, agent_id bigint, deals bigint, contract_total decimal(38,4)",
    "stitch_agent_days": "agent_id bigint, day string, month string, contracts bigint, contract_total decimal(28,4)",
    "stitch_agent_contracts": "agent_id bigint, contracts bigint, contract_total decimal(38,4)",
    "slow_sale_paths": "sale_id bigint, month string, opened_at timestamp, path array<bigint>, "
    "path_times array<timestamp>, steps bigint, last_status_id bigint, is_signed boolean, signed_at timestamp, "
    "unit_id bigint, agent_id bigint, customer_id bigint, contract_subtotal decimal(18,4)",
    "slow_milestones": "sale_id bigint, status_id bigint, month string, reached_at timestamp, agent_id bigint",
    "slow_unit_difficulty": "month string, unit_id bigint, sales bigint, signed_sales bigint, agents bigint, "
    "days_on_market bigint, difficulty_rank int",
    "slow_agent_success": "month string, agent_id bigint, sales bigint, signed bigint, closed bigint, "
    "steps_1 bigint, steps_2 bigint, steps_3 bigint, steps_4 bigint, steps_5 bigint, steps_6 bigint, "
    "steps_7_up bigint, share_signed decimal(9,6), success_rate decimal(9,6)",
    "slow_customer_demand": "month string, customer_id bigint, paths bigint, units bigint, short_paths bigint",
    "slow_agent_performance": "month string, agent_id bigint, milestones bigint, rules_version string",
    "lake_quality": "result_id string, expectation string, rows_asked bigint, rows_broken bigint, outcome string",
}

ROWS: Mapping[str, Sequence[Row]] = {
    "sales_log": [
        *(event(f"s{id_}", id_) for id_ in range(1, 16) if id_ != 3),
        *(event("twice") for _ in range(2)),
        event("no-operation", op="x"),
        event("no-sale", None),
        event("wrong-day", day="2026-01-06"),
        event("future", time=at(10, day=9)),
        event("not-counted", time=at(5)),
        event("unheard-of", unit=77, building=76, project=75, status=74, agent=73, customer=72),
        event("deleted", op="d", unit=71),  # right: a delete says nothing of what it names
        event("erased", agent=0, customer=0),  # right
    ],
    "units": [
        (1, "1", 1, 1),
        *((2, "twice", 1, 1) for _ in range(2)),
        (3, None, 1, 1),
        (4, "building 99", 99, 1),
        (5, "project 98", 2, 98),
        (6, "building 2 in project 1 too", 2, 1),
    ],
    "buildings": [(1, "1"), (2, "2"), (3, "twice"), (3, "twice"), (4, None)],
    "projects": [(1, "1"), (2, "twice"), (2, "twice"), (3, None)],
    "statuses": [(1, "Lead"), (8, "Contract signed"), (10, "Cancelled"), (2, "twice"), (2, "twice"), (3, None)],
    "agents": [(1, "Ann"), (2, None), (3, "twice"), (3, "twice"), (None, "nobody")],
    "customers": [(1, "Eve"), (2, "twice"), (2, "twice")],
    "sales": [
        sale(1, 1, 8, 100, at(9), agent=1, customer=1),
        *(sale(2) for _ in range(2)),
        sale(3),  # of no event
        sale(4, 99),
        sale(5, status=97),
        sale(6, agent=96),
        sale(7, customer=95),
        sale(8, total=-1),
        sale(9, None, 8, None, at(9), agent=1),  # signed, for nothing
        sale(10, status=8),  # the same, by its status
        sale(11, None, 1, 10, at(9, day=3), agent=1),  # signed, and still a lead
        sale(12, None, 8, 5, at(9, day=31), agent=1),  # signed in the future
        *(sale(id_, 3, 8, 1) for id_ in (13, 14)),  # the same unit
        sale(15, None, 10, 50, at(9, day=2), agent=0, customer=0),  # right: signed, cancelled, people erased
    ],
    "fast_hourly_events": [
        (TEN, 1, 1, 21),
        *((at(9), 2, 1, 1) for _ in range(2)),  # twice; and no such event
        (at(8), 1, 1, 0),
        (at(7), 99, 1, 1),
        (at(6), 1, 97, 1),
        (at(9, day=4), None, None, 1),  # more than a day before
    ],
    "fast_daily_deals": [
        (DAY, 1, 1, 2, Decimal(100)),
        ("2026-01-04", 1, 2, 0, Decimal(0)),
        ("2026-01-04", 1, 3, 1, Decimal(-5)),
        *(("2026-01-04", 2, 1, 1, Decimal(1)) for _ in range(2)),
        ("2026-01-04", 99, 1, 1, Decimal(1)),
        ("2026-01-04", 1, 96, 1, Decimal(1)),
    ],
    "stitch_agent_days": [
        (1, DAY, JAN, 1, Decimal(100)),
        *((2, DAY, JAN, 1, None) for _ in range(2)),
        (3, DAY, JAN, 0, Decimal(0)),
        (3, "2026-01-06", JAN, 1, Decimal(-1)),
        (4, DAY, FEB, 1, Decimal(1)),
    ],
    "stitch_agent_contracts": [
        (1, 4, Decimal(115)),
        (0, 1, Decimal(50)),
        (2, 1, Decimal(0)),  # never signed one
        *((3, 1, Decimal(1)) for _ in range(2)),
        (5, 0, Decimal(0)),  # an unknown agent, with nothing
    ],
    "slow_sale_paths": [
        path(
            1, [1, 8], is_signed=True, signed_at=TEN, unit_id=1, agent_id=1, customer_id=1, contract_subtotal=Decimal(1)
        ),
        *(path(2, [1]) for _ in range(2)),
        path(3, [1], steps=2),  # and its sale is in no event
        path(4, [1], is_signed=True),
        path(5, [1], FEB),
        path(6, []),  # although a status is known
        path(7, [1], customer_id=2),
    ],
    "slow_milestones": [
        (1, 1, JAN, TEN, 1),  # one of two
        *((6, 1, JAN, TEN, 9) for _ in range(2)),
        (7, 1, FEB, TEN, 9),
    ],
    "slow_unit_difficulty": [
        (JAN, 1, 1, 1, 1, 0, 1),
        *((FEB, 2, 1, 0, 1, 0, 2) for _ in range(2)),  # twice; and no rank 1
        (MAR, 3, 1, 2, 1, 0, 1),
        (MAR, 99, 1, 0, 1, 0, 2),
    ],
    "slow_agent_success": [
        success(JAN, 1, signed=1, share=1),
        *(success(FEB, 2) for _ in range(2)),
        success(MAR, 3, signed=2, share=2),
        success(APR, 96),
    ],
    "slow_customer_demand": [
        (JAN, 1, 1, 1, 1),
        *((FEB, 2, 1, 1, 1) for _ in range(2)),
        (MAR, 1, 1, 1, 2),
        (APR, 95, 1, 1, 1),
    ],
    "slow_agent_performance": [
        (JAN, 1, 1, "v1"),
        (FEB, 2, 1, "v1"),
        (FEB, 3, 1, "v2"),
        *((MAR, 2, 0, "v1") for _ in range(2)),
    ],
    "lake_quality": [
        ("right", "named", 3, 1, "warned"),
        ("balanced", "every_record_is_accounted_for", 3, 0, "held"),
        ("lost", "every_record_is_accounted_for", 3, 0, "stopped"),
        *(("again", "named", 1, 0, "held") for _ in range(2)),
        ("more", "named", 1, 2, "warned"),
        ("less", "named", 1, -1, "held"),
    ],
}

OLD = [row[:3] for row in ROWS["fast_daily_deals"] if row[0] != DAY]
FOUND: Mapping[str, Sequence[Row]] = {
    "sales_log.event_id_is_unique": [("twice",)],
    "sales_log.event_says_what_and_when": [("no-operation",), ("no-sale",)],
    "sales_log.event_lies_in_its_day": [("wrong-day",)],
    "sales_log.event_is_not_of_the_future": [("future",)],
    "units.key_is_unique": [(2,)],
    "units.log_is_taken_over": [(77,)],
    "units.name_is_known": [(3,)],
    "units.building_is_known": [(4, 99)],
    "units.project_is_known": [(5, 98)],
    "buildings.key_is_unique": [(3,)],
    "buildings.log_is_taken_over": [(76,)],
    "buildings.name_is_known": [(4,)],
    "buildings.building_is_in_one_project": [(2,)],
    "projects.key_is_unique": [(2,)],
    "projects.log_is_taken_over": [(75,)],
    "projects.name_is_known": [(3,)],
    "statuses.key_is_unique": [(2,)],
    "statuses.log_is_taken_over": [(74,)],
    "statuses.name_is_known": [(3,)],
    "agents.key_is_unique": [(3,), (None,)],
    "agents.log_is_taken_over": [(73,)],
    "agents.name_is_known": [(2,)],
    "customers.key_is_unique": [(2,)],
    "customers.log_is_taken_over": [(72,)],
    "sales.key_is_unique": [(2,)],
    "sales.sale_is_in_the_log": [(3,)],
    "sales.unit_is_known": [(4, 99)],
    "sales.status_is_known": [(5, 97)],
    "sales.agent_is_known": [(6, 96)],
    "sales.customer_is_known": [(7, 95)],
    "sales.subtotal_is_not_negative": [(8,)],
    "sales.signed_sale_has_a_subtotal": [(9,), (10,)],
    "sales.signing_date_belongs_to_a_signed_sale": [(11, 1)],
    "sales.signing_date_is_not_in_the_future": [(12,)],
    "sales.unit_is_sold_once": [(3,)],
    "fast_hourly_events.grain_is_unique": [(at(9), 2, 1)],
    "fast_hourly_events.events_are_counted": [(at(8), 1, 1)],
    "fast_hourly_events.hours_are_of_one_day": [(at(9, day=4), None, None)],
    "fast_hourly_events.hours_add_up_to_the_log": [*((at(hour),) for hour in (5, 6, 7, 9)), (at(9, day=4),)],
    "fast_hourly_events.project_is_known": [(at(7), 99, 1)],
    "fast_hourly_events.status_is_known": [(at(6), 1, 97)],
    "fast_daily_deals.grain_is_unique": [("2026-01-04", 2, 1)],
    "fast_daily_deals.deals_are_counted": [("2026-01-04", 1, 2), ("2026-01-04", 1, 3)],
    "fast_daily_deals.there_is_one_day": OLD,
    "fast_daily_deals.deals_add_up_to_the_sales": [(date(2026, 1, 4),)],
    "fast_daily_deals.project_is_known": [("2026-01-04", 99, 1)],
    "fast_daily_deals.agent_is_known": [("2026-01-04", 1, 96)],
    "stitch_agent_days.grain_is_unique": [(2, DAY)],
    "stitch_agent_days.contracts_are_counted": [(3, DAY), (3, "2026-01-06")],
    "stitch_agent_days.day_lies_in_its_month": [(4, DAY, FEB)],
    "stitch_agent_contracts.grain_is_unique": [(3,)],
    "stitch_agent_contracts.contracts_are_counted": [(5,)],
    "stitch_agent_contracts.year_is_a_part_of_all_sales": [(2,), (3,), (3,)],
    "stitch_agent_contracts.agent_is_known": [(5,)],
    "slow_sale_paths.grain_is_unique": [(2,)],
    "slow_sale_paths.path_has_its_steps": [(3,), (6,)],
    "slow_sale_paths.signed_means_a_date": [(4,)],
    "slow_sale_paths.sale_lies_in_its_month": [(5, FEB)],
    "slow_sale_paths.sale_is_in_the_log": [(3,)],
    "slow_milestones.grain_is_unique": [(6, 1)],
    "slow_milestones.milestone_lies_in_its_month": [(7, 1, FEB)],
    "slow_milestones.milestones_are_the_steps_of_their_sale": [(1,), (6,), (7,)],
    "slow_unit_difficulty.grain_is_unique": [(FEB, 2)],
    "slow_unit_difficulty.numbers_fit_together": [(MAR, 3)],
    "slow_unit_difficulty.month_has_a_hardest_unit": [(FEB,)],
    "slow_unit_difficulty.sales_add_up_to_the_paths": [(FEB, 2), (FEB, 2), (MAR, 3), (MAR, 99)],
    "slow_unit_difficulty.unit_is_known": [(MAR, 99)],
    "slow_agent_success.grain_is_unique": [(FEB, 2)],
    "slow_agent_success.numbers_fit_together": [(MAR, 3)],
    "slow_agent_success.shares_lie_between_0_and_1": [(MAR, 3)],
    "slow_agent_success.sales_add_up_to_the_paths": [(FEB, 2), (FEB, 2), (MAR, 3), (APR, 96)],
    "slow_agent_success.agent_is_known": [(APR, 96)],
    "slow_customer_demand.grain_is_unique": [(FEB, 2)],
    "slow_customer_demand.numbers_fit_together": [(MAR, 1)],
    "slow_customer_demand.paths_add_up": [(JAN, 2), (FEB, 2), (FEB, 2), (MAR, 1), (APR, 95)],
    "slow_customer_demand.customer_is_known": [(APR, 95)],
    "slow_agent_performance.grain_is_unique": [(MAR, 2)],
    "slow_agent_performance.month_has_one_version_of_the_rules": [(FEB,)],
    "slow_agent_performance.milestones_are_there": [(FEB, 2), (FEB, 3), (MAR, 2), (MAR, 2)],
    "lake_quality.result_is_kept_once": [("again",)],
    "lake_quality.every_commit_of_the_log_balances": [("lost",)],
    "lake_quality.no_more_rows_break_than_are_asked": [("more",), ("less",)],
}
