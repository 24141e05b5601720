"""One correction of a sale, chosen from the lake and landed as the ERP would write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from local_stack.demos.lake_view import TableView
from local_stack.errors import SetupError
from spark_jobs.generator.envelope import (
    COMMIT_SLOT,
    FIRST_CHANGE_SLOT,
    INSERT_SERIAL,
    LogPosition,
    envelope,
    image,
    lsn,
)
from spark_jobs.generator.landing import LandingFile
from spark_jobs.lake_spec.specs import LakeSpec

Row = Mapping[str, Any]
WITHIN = timedelta(days=300)
"""Sales signed this lately are in the stitch layer's year, today and tomorrow."""
_TENTH_MORE, _SCALE = Decimal("1.1"), Decimal("0.0001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A sale as it is stored, the agent and subtotal that it should have had, and when the ERP corrects it."""

    sale: Row
    agent_id: int
    subtotal: Decimal
    at: datetime

    def __str__(self) -> str:
        return (
            f"sale {self.sale['sale_id']} was not {self.sale['contract_subtotal']:,} by agent {self.sale['agent_id']}, "
            f"but {self.subtotal:,} by agent {self.agent_id}"
        )

    def concerns(self, row: Row) -> bool:
        """True for a mart's row about this sale: itself, its agents, its unit or customer, or events like this one."""
        if "sale_id" in row:
            return bool(row["sale_id"] == self.sale["sale_id"])
        if "agent_id" in row:
            return row["agent_id"] in (self.sale["agent_id"], self.agent_id)
        if "status_id" in row:
            return bool(row["status_id"] == self.sale["status_id"])
        return any(row.get(key, -1) == self.sale[key] for key in ("unit_id", "customer_id"))


def choose_correction(views: Mapping[str, TableView], now: datetime) -> Correction:
    """The sale that was signed last: a tenth more, and by the next agent. SetupError when none was signed lately."""
    signed = [row for row in views["sales"].live if _is_signed_lately(row, now)]
    agents = sorted(row["agent_id"] for row in views["agents"].live)
    if not signed or len(agents) < 2:
        raise SetupError(f"no sale was signed within {WITHIN.days} days, so none can be corrected; give more --events")
    sale = max(signed, key=lambda row: (in_utc(row["contract_signing_date"]), row["sale_id"]))
    following = [agent for agent in agents if agent > sale["agent_id"]] or agents
    subtotal = (sale["contract_subtotal"] * _TENTH_MORE).quantize(_SCALE)
    return Correction(sale=sale, agent_id=following[0], subtotal=subtotal, at=now)


def land_correction(
    correction: Correction, views: Mapping[str, TableView], spec: LakeSpec, folder: Path, *, sequence: int
) -> Path:
    """Write a new record of the sale into a topic's folder; gives the file.

    ``sequence`` is its place in the source's order: that of the first event which is not there yet.
    """
    sale = correction.sale

    def find(table: str, key: int | None) -> Row:
        column = spec.table(table).key_column
        return next((row for row in views[table].live if row[column] == key), {})

    unit = find("units", sale["unit_id"])
    row = {
        "SaleId": sale["sale_id"],
        "AgentId": correction.agent_id,
        "AgentName": find("agents", correction.agent_id).get("agent_name"),
        "UnitId": sale["unit_id"],
        "UnitName": unit.get("unit_name"),
        "BuildingId": unit.get("building_id"),
        "BuildingName": find("buildings", unit.get("building_id")).get("building_name"),
        "ProjectId": unit.get("project_id"),
        "ProjectName": find("projects", unit.get("project_id")).get("project_name"),
        "StatusId": sale["status_id"],
        "StatusName": find("statuses", sale["status_id"]).get("status_name"),
        "ContractSubtotal": str(correction.subtotal),
        "ContractSigningDate": _milliseconds(sale["contract_signing_date"]),
        "CustomerId": sale["customer_id"],
        "CustomerName": find("customers", sale["customer_id"]).get("customer_name"),
    }
    place = LogPosition(lsn(sequence, FIRST_CHANGE_SLOT), lsn(sequence, COMMIT_SLOT), INSERT_SERIAL)
    after = image(tuple(row.values()), has_customer_columns=True)
    text = envelope("c", "null", after, place, ts_ms=_milliseconds(correction.at), lag_ms=40)
    with LandingFile(folder, topic="corrections", offset=sequence, is_gzip=False) as file:
        file.write([text])
    return file.path


def in_utc(moment: datetime) -> datetime:
    """Readers give times with their zone, or without it in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _is_signed_lately(sale: Row, now: datetime) -> bool:
    if any(sale[column] is None for column in ("agent_id", "unit_id", "contract_subtotal", "contract_signing_date")):
        return False
    return now - WITHIN < in_utc(sale["contract_signing_date"]) <= now


def _milliseconds(moment: datetime) -> int:
    return (in_utc(moment) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
