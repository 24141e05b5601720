"""When the DAGs run: the ingest cron from an Airflow variable, asset schedules that can be backfilled by event date."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import TYPE_CHECKING

import pendulum
from airflow.sdk import AssetAny, AssetOrTimeSchedule, CronTriggerTimetable, Param, Variable

from lakehouse_provider.alerts import failure_alert
from spark_jobs.contracts.arguments import Interval, parse_clock
from spark_jobs.contracts.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from airflow.sdk import Asset

    from spark_jobs.contracts.settings import Settings

INGEST_CRON_VARIABLE = "lakehouse_ingest_cron"
DEFAULT_INGEST_CRON = "*/5 * * * *"
TEN_MINUTELY, HALF_HOURLY = "*/10 * * * *", "*/30 * * * *"
DAILY, NIGHTLY, MONTHLY = "0 0 * * *", "0 3 * * *", "0 0 1 * *"
START_DATE = pendulum.datetime(2015, 1, 1, tz="UTC")
"""Backfills reach back to here; nothing is caught up by itself."""


LONGEST = timedelta(hours=12)
"""How long a try of a task may take, where its DAG says nothing else: one that hangs is ended and tried again."""


def within(*, hours: float) -> dict[str, Any]:
    """For the default arguments of a DAG, or for one task: how long a try may take."""
    return {"execution_timeout": timedelta(hours=hours)}


def writer_args(lake: str = "", *, pool: str = "") -> dict[str, Any]:
    """Default arguments of a task that writes tables of a lake; ``pool`` is "" for Airflow's default pool.

    ``max_active_tis_per_dag`` counts the tasks of every run of the DAG, those of a backfill with its own
    ``--max-active-runs`` too, so a table has one writer without a pool to create first.
    """
    return {
        "lake": lake,
        "retries": 3,
        "retry_delay": timedelta(seconds=10),
        "retry_exponential_backoff": 2.0,
        "max_retry_delay": timedelta(minutes=2),
        "max_active_tis_per_dag": 1,
        "execution_timeout": LONGEST,
        "on_failure_callback": failure_alert(lake),
        **({"pool": pool} if pool else {}),
    }


DATE_PARAMS: dict[str, Param] = {
    name: Param(None, type=["null", "string"], format="date", title=title, description=description)
    for name, title, description in (
        ("from_date", "First event date", "Read the events of these dates again; empty: what is new"),
        ("to_date", "Last event date", "This day is included"),
    )
}
"""The form of a job that can read event dates again."""


def ingest_schedule(lake: str = "") -> CronTriggerTimetable:
    """The cron in the variable ``lakehouse_ingest_cron``; every five minutes when it is unset or no cron.

    ``lakehouse_ingest_cron_<lake>`` goes before it. Read while the DAG is parsed: one look-up, or two beside other
    lakes, and a wrong value shows as a warning on the DAG instead of removing it.
    """
    from croniter import croniter

    names = [*([f"{INGEST_CRON_VARIABLE}_{lake}"] if lake else []), INGEST_CRON_VARIABLE]
    for name in names:
        if not (cron := Variable.get(name, default="")):
            continue
        if croniter.is_valid(cron):
            return clock_schedule(cron)
        warnings.warn(
            f"variable {name}={cron!r} is not a cron expression; using {DEFAULT_INGEST_CRON!r} until it is corrected "
            f"under Admin > Variables",
            stacklevel=2,
        )
        break
    return clock_schedule(DEFAULT_INGEST_CRON)


def backlog_schedule(lake: str, backlog: Asset) -> AssetOrTimeSchedule:
    """:func:`ingest_schedule`, and at once when a run left something for the next one."""
    return AssetOrTimeSchedule(timetable=ingest_schedule(lake), assets=AssetAny(backlog))


def event_date_schedule(assets: list[Asset]) -> AssetOrTimeSchedule:
    """Run as soon as one of ``assets`` was committed, and once at midnight; a backfill gets one run per event date.

    The clock half is what ``airflow backfill create`` needs (docs/adr/0003-asset-or-time-schedule.md). The logical
    date of a backfill run is the event date it covers.
    """
    return AssetOrTimeSchedule(timetable=clock_schedule(DAILY), assets=AssetAny(*assets))


def catalog_schedule(assets: list[Asset], settings: Settings) -> AssetOrTimeSchedule | None:
    """Run as soon as one of ``assets`` was committed, and every half hour; never when the lake has no catalog."""
    if not settings.catalog:
        return None
    return AssetOrTimeSchedule(timetable=clock_schedule(HALF_HOURLY), assets=AssetAny(*assets))


def clock_schedule(cron: str) -> CronTriggerTimetable:
    """Run at these times (UTC), each run for the moment it starts at, so that a backfill reaches up to today.

    Days and months begin at midnight: a backfill's ``--to-date`` is then the last day (or month) that gets a run.
    """
    return CronTriggerTimetable(cron, timezone="UTC")


def event_interval(dag_run: Any, params: Mapping[str, Any]) -> Interval | None:
    """Event dates a run must read again: the day of a backfill run, or those in the form; None means what is new.

    ContractError when the form has one date of the two, or the last one before the first.
    """
    if bool(params.get("from_date")) != bool(params.get("to_date")):
        raise ContractError("the form has one of its two dates; give the first and the last event date, or neither")
    if params.get("from_date"):
        end = parse_clock(params["to_date"]) + timedelta(days=1)
        return Interval(start=parse_clock(params["from_date"]), end=end)
    if dag_run.run_type == "backfill":
        return Interval(start=dag_run.logical_date, end=dag_run.logical_date + timedelta(days=1))
    return None


def recompute_dates(dag_run: Any, params: Mapping[str, Any]) -> dict[str, str]:
    """First and last day to recompute, ``from`` and ``to``: the month of a backfill run, else those in the form."""
    if dag_run.run_type == "backfill":
        first = dag_run.logical_date.date().replace(day=1)
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        return {"from": first.isoformat(), "to": last.isoformat()}
    return {name: str(params.get(name) or "") for name in ("from", "to")}
