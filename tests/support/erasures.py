"""A lake in which one agent and one customer can be found by their digits and letters, wherever they are."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.support import oracle
from tests.support.envelopes import SQLSERVER_TOPIC, START_MS, line, sqlserver, wrapped
from tests.support.schedules import DAY_MS, ROUNDS, Schedule, build_schedule
from tests.support.service_lakes import make_service_lake, run_services

AGENT, CUSTOMER = 777001, 888002
AGENT_NAMES, CUSTOMER_NAMES = ("Wilhelmina Quux", "Zoë Quux-Ångström"), ("Ottokar Plimsoll",)
LATE_NAME = "Mina Farthingale"
"""What the agent is called in a file that was delivered and not yet ingested."""
LAYERS = ("fast", "stitch", "slow")
MARTS = (
    "fast_daily_deals",
    "stitch_agent_days",
    "stitch_agent_contracts",
    "slow_sale_paths",
    "slow_customer_demand",
)
"""Of each way to name a person one: totals, a cache, rows, a mart of another mart."""
TABLES = ("units", "agents", "customers", "sales")
Events = list[oracle.Event]


class PeopleLake:
    """Three rounds of two random sources and of one that names the two people, with services and savepoints between.

    The last round is ingested and not split: the tables are behind.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.lake = make_service_lake(spark, folder, marts=MARTS, tables=TABLES)
        self.clock = datetime.now(UTC).replace(microsecond=0)
        self.schedules: list[Schedule] = [build_schedule(31, number) for number in (1, 2)]
        self.rounds = [person_lines(number) for number in range(ROUNDS)]
        rng = random.Random(31)
        for number in range(ROUNDS):
            self._land(number)
            self.lake.run("ingest", clock=self.clock)
            if number == 0:
                self.refresh()
                self.lake.run("serve", clock=self.clock, layer=["fast,stitch,slow"], mart=None)
                self.lake.run("savepoint", clock=self.clock, action="create", label="day", keep=None)
            elif number == 1:
                self.refresh()
                run_services(self.lake, rng)

    def refresh(self) -> None:
        """Split and every layer."""
        self.lake.run("split", clock=self.clock)
        for layer in LAYERS:
            self.lake.run("mart", clock=self.clock, layer=layer)

    @property
    def lines(self) -> list[bytes]:
        """Everything that was delivered."""
        own = [text for one_round in self.rounds for text in one_round]
        return [*own, *(text for schedule in self.schedules for text in schedule.lines)]

    def land_late(self) -> None:
        """Deliver a file more: it calls the agent by an unknown name."""
        row = {"SaleId": 9000, "AgentId": AGENT, "AgentName": LATE_NAME, "StatusId": 9400}
        named, unnamed = sqlserver("u", row, 5000), sqlserver("u", {"SaleId": 9001, "AgentName": LATE_NAME}, 5001)
        self.rounds.append([line(named), line(unnamed)])
        late = self.lake.folder / "landing" / SQLSERVER_TOPIC / "late.jsonl"
        late.write_bytes(b"".join(text + b"\n" for text in self.rounds[-1]))

    def _land(self, number: int) -> None:
        for schedule in self.schedules:
            schedule.land(self.lake.folder / "landing", number)
        folder = self.lake.folder / "landing" / SQLSERVER_TOPIC
        folder.mkdir(parents=True, exist_ok=True)
        content = b"".join(text + b"\n" for text in self.rounds[number])
        half = len(self.rounds[number]) // 2
        with (folder / "grows.jsonl").open("ab") as file:
            file.write(b"".join(text + b"\n" for text in self.rounds[number][:half]))
        (folder / f"packed-{number}.gz").write_bytes(gzip.compress(content))


def person_lines(number: int) -> list[bytes]:
    """Usable and broken records of a round, with the two people in many of them."""
    rng = random.Random(f"people/{number}")
    lines = []
    for at in range(18):
        row: dict[str, Any] = {
            "SaleId": 9000 + rng.randrange(9),
            "AgentId": rng.choice((AGENT, AGENT, 9101, None)),
            "UnitId": 9200 + rng.randrange(2),
            "ProjectId": 9300,
            "StatusId": 9400 + rng.randrange(3),
            "ContractSubtotal": f"{rng.randrange(1000)}.5000",
            "ContractSigningDate": START_MS + rng.randrange(2) * DAY_MS,
            "CustomerId": rng.choice((CUSTOMER, CUSTOMER, 9501, None)),
        }
        row["AgentName"] = "Bea" if row["AgentId"] == 9101 else rng.choice((*AGENT_NAMES, None))
        row["CustomerName"] = "Cy" if row["CustomerId"] == 9501 else rng.choice((*CUSTOMER_NAMES, None))
        event = sqlserver(rng.choice("ccuuuuud"), row, 1000 * number + at)
        if rng.random() < 0.3:
            event = {**event, "before": {**row, "StatusId": 9401}}
        lines.append(line(wrapped(event) if rng.random() < 0.3 else event))
    whole = line(sqlserver("c", {"SaleId": 9000, "AgentId": AGENT, "AgentName": AGENT_NAMES[1]}, 1000 * number + 900))
    return [
        *lines,
        whole[:-30],  # no JSON, and it names her
        whole.replace(b'"op":"c"', b'"op":"x"').replace(b'"op": "c"', b'"op": "x"'),
        f"call {CUSTOMER_NAMES[0]} about sale {number}".encode(),
    ]


def erased(events: Iterable[oracle.Event], key: str, name: str, id_: int, names: Iterable[str]) -> Events:
    """The events as if they had named the stand-in; where they have no key, a name of theirs goes."""
    known = set(names)
    done = []
    for event in events:
        row = dict(event.row)
        if row.get(key) == id_:
            row[key] = 0
            row.pop(name, None)
        elif key not in row and row.get(name) in known:
            del row[name]
        done.append(replace(event, row=row))
    return done


def traces(folder: Path, words: Iterable[str]) -> list[str]:
    """Files below a folder that contain one of the words: data files row by row, all others byte by byte."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".parquet" and content[:4] == b"PAR1":
            text = repr(pq.ParquetFile(path).read().to_pylist())
            text += repr(pq.ParquetFile(path).metadata.to_dict())
            is_found = any(word in text for word in words)
        else:
            content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            is_found = any(word.encode() in content for word in words)
        if is_found:
            found.append(str(path.relative_to(folder)))
    return found
