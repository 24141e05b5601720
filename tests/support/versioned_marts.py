"""A lake whose marts read versions of rows, in every mode that can, and what plain Python says they must be.

``signed_by_name`` joins sales to the name that their agent had when they were signed, and says so (``at``).
``ever_called`` joins them to every version of their agent. ``status_terms`` counts versions of sales, which are deleted
and come again; ``agent_terms`` has versions as its scoped rows, and ``names_at_signing`` is computed as a whole.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from tests.support.envelopes import MINUTE_MS, START_MS, line, sqlserver
from tests.support.lakes import Lake, SpecLake, write_spec
from tests.support.mart_lakes import cells, read_bare_spec
from tests.support.oracle import TABLES
from tests.support.oracle_versions import RowChange, Version, versions_of

LAYER = "asof"
JOIN_AT_SIGNING = """
FROM sales LEFT JOIN agents_versions AS agents
  ON agents.agent_id = sales.agent_id
 AND sales.contract_signing_date >= agents.valid_from
 AND (agents.valid_to IS NULL OR sales.contract_signing_date < agents.valid_to)
"""
HOUR = "date_format(contract_signing_date, 'yyyy-MM-dd HH')"
MARTS: dict[str, tuple[dict[str, Any], str]] = {
    "signed_by_name": (
        {
            "mode": "scoped",
            "grain": ["hour", "agent_name"],
            "scope": "hour",
            "reads": [
                {"table": "sales", "scope": HOUR},
                {"table": "agents_versions", "by": "agent_id", "at": "contract_signing_date"},
            ],
        },
        f"SELECT {HOUR} AS hour, agents.agent_name, COUNT(*) AS sales, SUM(sales.contract_subtotal) AS total "
        f"{JOIN_AT_SIGNING} GROUP BY 1, 2",
    ),
    "ever_called": (
        {
            "mode": "scoped",
            "grain": ["sale_id"],
            "scope": "sale_id",
            "reads": [{"table": "sales", "scope": "sale_id"}, {"table": "agents_versions", "by": "agent_id"}],
        },
        "SELECT sale_id, COUNT(valid_from) AS versions, MAX(valid_to) AS last_end "
        "FROM sales LEFT JOIN agents_versions USING (agent_id) GROUP BY sale_id",
    ),
    "status_terms": (
        {"mode": "aggregate", "grain": ["status_id"], "reads": [{"table": "sales_versions"}]},
        "SELECT status_id, COUNT(*) AS versions, COUNT(valid_to) AS ended, MIN(valid_from) AS first_begin "
        "FROM sales_versions GROUP BY status_id",
    ),
    "agent_terms": (
        {
            "mode": "scoped",
            "grain": ["agent_id"],
            "scope": "agent_id",
            "reads": [{"table": "agents_versions", "scope": "agent_id"}],
        },
        "SELECT agent_id, COUNT(*) AS versions, MAX(valid_from) AS last_begin FROM agents_versions GROUP BY agent_id",
    ),
    "names_at_signing": (
        {"mode": "full", "grain": ["sale_id"], "reads": [{"table": "sales"}, {"table": "agents_versions"}]},
        f"SELECT sales.sale_id, agents.agent_name {JOIN_AT_SIGNING}",
    ),
}
AGENTS, SALES, MINUTES = 3, 8, 240
NAMES = ("Ann", "Bob", "Cem")


def make_versioned_lake(spark: SparkSession, folder: Path, marts: Sequence[str] = ()) -> SpecLake:
    """An empty lake of agents and sales with histories and these of the marts; all when none is named."""
    document = {**read_bare_spec(("agents", "sales")), "marts": "marts"}
    for table in document["tables"]:
        table["history"] = True
    write_marts(folder, marts)
    (folder / "landing").mkdir()
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


def write_marts(folder: Path, marts: Sequence[str] = ()) -> None:
    """The files of these marts, or of all, in ``marts`` below the folder of a lake's spec."""
    (folder / "marts").mkdir()
    for name in marts or MARTS:
        entry, sql = MARTS[name]
        (folder / "marts" / f"{name}.yaml").write_text(yaml.safe_dump({"layer": LAYER, **entry}), encoding="utf-8")
        (folder / "marts" / f"{name}.sql").write_text(sql, encoding="utf-8")


def random_lines(rng: random.Random, count: int) -> list[bytes]:
    """Events of few sales and agents in any order; their times are near their places, and go back now and then."""
    found = []
    for position in rng.sample(range(MINUTES), count):
        ts_ms = START_MS + (position + rng.choice((0, 0, 0, -9, 5))) * MINUTE_MS
        row: dict[str, Any] = {"SaleId": rng.randint(1, SALES)}
        if rng.random() < 0.1:
            found.append(line(sqlserver("d", row, position, ts_ms=ts_ms)))
            continue
        values = {
            "AgentId": rng.randint(1, AGENTS),
            "AgentName": rng.choice(NAMES),
            "StatusId": rng.randint(1, 3),
            "ContractSubtotal": f"{rng.randint(1, 999)}.5000",
            "ContractSigningDate": START_MS + rng.randrange(MINUTES) * MINUTE_MS,
        }
        row |= {name: value for name, value in values.items() if rng.random() < 0.7}
        found.append(line(sqlserver("u", row, position, ts_ms=ts_ms)))
    return found


def assert_versioned_marts_are_right(lake: Lake, marts: Iterable[str] = ()) -> None:
    """These marts (all when none is named) against the tables and histories as they are now, by the Rust reader."""
    sales = [row for row in lake.rows("sales") if not row["is_deleted"]]
    agents, expected = versions(lake, "agents"), dict[str, dict[Any, Any]]()
    at_signing = {sale["sale_id"]: _name_at(agents, sale["agent_id"], sale["contract_signing_date"]) for sale in sales}
    expected["names_at_signing"] = {sale: {"sale_id": sale, "agent_name": name} for sale, name in at_signing.items()}
    expected["signed_by_name"] = _signed(sales, at_signing)
    expected["ever_called"] = {
        sale["sale_id"]: {
            "sale_id": sale["sale_id"],
            "versions": len(mine := [each for each in agents if each[0] == sale["agent_id"]]),
            "last_end": max((each[-1] for each in mine if each[-1]), default=None),
        }
        for sale in sales
    }
    expected["agent_terms"] = {
        agent: {
            "agent_id": agent,
            "versions": sum(each[0] == agent for each in agents),
            "last_begin": max(each[-2] for each in agents if each[0] == agent),
        }
        for agent in {each[0] for each in agents}
    }
    expected["status_terms"] = _status_terms(versions(lake, "sales"))
    for mart in marts or MARTS:
        assert cells(lake, mart, *MARTS[mart][0]["grain"]) == expected[mart], mart


def versions(lake: Lake, table: str) -> list[Version]:
    """The versions of a table's rows, by what its history holds."""
    key, columns = TABLES[table]
    changes = [
        RowChange(
            key=(row[key],),
            order=row["row_order"],
            time=row["history__time"],
            is_delete=row["is_deleted"],
            values={name: row[name] for name in columns if row[name] is not None},
        )
        for row in lake.rows(f"{table}_history")
    ]
    return versions_of(changes, columns)


def _name_at(agents: Iterable[Version], agent: int | None, moment: datetime | None) -> str | None:
    found = [
        name
        for id_, name, begin, end in agents
        if id_ == agent and moment is not None and begin <= moment and (end is None or moment < end)
    ]
    assert len(found) <= 1
    return found[0] if found else None


def _signed(sales: Iterable[dict[str, Any]], names: dict[int, str | None]) -> dict[Any, Any]:
    counts, totals = Counter[Any](), defaultdict[Any, list[Decimal]](list)
    for sale in sales:
        signed = sale["contract_signing_date"]
        cell = (f"{signed:%Y-%m-%d %H}" if signed else None, names[sale["sale_id"]])
        counts[cell] += 1
        totals[cell] += [sale["contract_subtotal"]] if sale["contract_subtotal"] is not None else []
    return {
        (hour, name): {"hour": hour, "agent_name": name, "sales": count, "total": sum(totals[hour, name]) or None}
        for (hour, name), count in counts.items()
    }


def _status_terms(sales: Sequence[Version]) -> dict[Any, Any]:
    place = 1 + TABLES["sales"][1].index("status_id")
    by_status = defaultdict[Any, list[Version]](list)
    for version in sales:
        by_status[version[place]].append(version)
    return {
        status: {
            "status_id": status,
            "versions": len(terms),
            "ended": sum(each[-1] is not None for each in terms),
            "first_begin": min(each[-2] for each in terms),
        }
        for status, terms in by_status.items()
    }
