"""The law behind mode scoped, on SQL made at random and run by SQLite: what is taken never mixes scopes.

A query is a chain of up to three sub-queries over orders and their log (scope: the number) and buyers (looked up by
their number), each with joins, groups, windows, DISTINCT or UNION ALL as chance has it. Most of them mix scopes.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from tests.support.scoped_sqls import LOG, OF_LOG
from tests.support.shop import BUYERS_LOOKED_UP, scoped, shop

TABLES = {
    "orders": ("number", "buyer_id", "amount"),
    "order_log": ("number", "buyer_id", "amount"),
    "buyers": ("buyer_id", "city"),
}
SOME, ALL = (None, 3), (None, 1, 2, 3, 4)
Rows = dict[str, list[tuple[object, ...]]]


class Writer:
    """Writes SQL by chance. ``known`` are the names that may be read, with their columns."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.known = chance, dict(TABLES)

    def query(self) -> str:
        ctes = []
        for name in ("a", "b", "c")[: self.chance.randint(0, 3)]:
            sql, columns = self.select()
            ctes.append(f"{name} AS ({sql})")
            self.known[name] = columns
        sql, columns = self.select()
        sql = f"SELECT number, {columns[-1]} AS x FROM ({sql}) AS t" if "number" in columns else sql
        return f"WITH {', '.join(ctes)} {sql}" if ctes else sql

    def select(self) -> tuple[str, tuple[str, ...]]:
        one = self.chance.choice([name for name in self.known if name != "buyers" or self.chance.random() < 0.2])
        other = self.chance.choice(sorted(self.known))
        common = [name for name in self.known[one] if name in self.known[other]]
        if self.chance.random() < 0.2 and common:
            order = common if self.chance.random() < 0.7 else self.chance.sample(common, len(common))
            return f"SELECT {', '.join(common)} FROM {one} UNION ALL SELECT {', '.join(order)} FROM {other}", tuple(
                common
            )
        source, inputs = f"{one} AS p", [f"p.{name}" for name in self.known[one]]
        if self.chance.random() < 0.6:
            kind = self.chance.choice(["JOIN"] * 3 + ["LEFT JOIN"] * 3 + ["RIGHT JOIN", "CROSS JOIN"])
            others = [f"q.{name}" for name in self.known[other]]
            source += f" {kind} {other} AS q" + (
                "" if kind == "CROSS JOIN" else f" ON {self.condition(inputs, others)}"
            )
            inputs += others
        return self.outputs(source, inputs)

    def condition(self, left: list[str], right: list[str]) -> str:
        pairs = [(one, other) for one in left for other in right if one[2:] == other[2:]] or [(left[0], right[-1])]
        likely = [pair for pair in pairs if pair[0][2:] == ("buyer_id" if "q.city" in right else "number")]
        one, other = self.chance.choice(likely if likely and self.chance.random() < 0.7 else pairs)
        if self.chance.random() < 0.15:
            one, other = self.chance.choice(left), self.chance.choice([other, *right])
        more = f" {self.chance.choice(['AND', 'AND', 'OR'])} {self.chance.choice(left)} > 1"
        return f"{one} {self.chance.choice(['=', '=', '=', '=', '=', '<'])} {other}" + (
            more if self.chance.random() < 0.2 else ""
        )

    def outputs(self, source: str, inputs: list[str]) -> tuple[str, tuple[str, ...]]:
        picked = {name[2:]: name for name in self.chance.sample(inputs, self.chance.randint(1, len(inputs)))}
        if self.chance.random() < 0.7:
            picked |= {name[2:]: name for name in inputs if name.endswith(".number")}
        where = f" WHERE {self.chance.choice(inputs)} IS NOT NULL" if self.chance.random() < 0.2 else ""
        items, value = [f"{name} AS {alias}" for alias, name in picked.items()], self.chance.choice(inputs)
        shape = self.chance.choice(["plain", "plain", "distinct", "group", "group", "window", "all"])
        if shape == "group":
            groups = self.chance.sample(sorted(picked.values()), self.chance.randint(1, len(picked)))
            items = [f"{name} AS {alias}" for alias, name in picked.items() if name in groups]
            where += f" GROUP BY {', '.join(groups)}"
            picked = {alias: name for alias, name in picked.items() if name in groups}
        if shape == "all":
            items, picked = [], {}
        if shape in ("group", "all"):
            alias = self.chance.choice(["amount", "amount", "number", "buyer_id"])
            items = [item for item in items if not item.endswith(f" AS {alias}")]
            items.append(f"{self.chance.choice(['MAX', 'MIN', 'COUNT'])}({value}) AS {alias}")
            picked = {**{name: "" for name in picked if name != alias}, alias: ""}
        if shape == "window":
            by = self.chance.choice([*inputs, *(name for name in inputs if name.endswith(".number"))])
            items = [item for item in items if not item.endswith(" AS amount")]
            items.append(f"MAX({value}) OVER (PARTITION BY {by}) AS amount")
            picked = {**{name: "" for name in picked if name != "amount"}, "amount": ""}
        distinct = "DISTINCT " if shape == "distinct" else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {source}{where}", tuple(picked)


def some_rows(chance: random.Random) -> Rows:
    def row() -> tuple[object, ...]:
        return chance.choice(ALL), chance.choice((None, 1, 2, 3)), chance.choice((None, 1, 2, 3, 7))

    found: Rows = {"orders": [row() for _ in range(6)], "order_log": [row() for _ in range(8)]}
    return {**found, "buyers": [(buyer, chance.choice((1, 2, 3))) for buyer in (1, 2, 4)]}


def answer(sql: str, rows: Rows) -> Counter[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as database:
        for table, columns in TABLES.items():
            database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            marks = ", ".join("?" for _ in columns)
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows[table])
        return Counter(database.execute(sql).fetchall())


def is_taken(sql: str) -> bool:
    reads = [read for read in (LOG, OF_LOG, BUYERS_LOOKED_UP) if f" {read.table} " in f"{sql} "]
    try:
        declared = scoped(sql, *reads)
        analyse_mart(declared, shop(declared))
    except ContractError:
        return False
    return True


def keeps_scopes_apart(sql: str, rows: Rows) -> bool:
    """True when some scopes alone, and another state of what is looked up, give what the law says."""
    everything = answer(sql, rows)
    part = {table: [row for row in held if table == "buyers" or row[0] in SOME] for table, held in rows.items()}
    if answer(sql, part) != Counter({row: n for row, n in everything.items() if row[0] in SOME}):
        return False
    moved = answer(sql, {**rows, "buyers": [(1, 9), (3, 3), *rows["buyers"][1:]]})
    concerned = {row[0] for table in ("orders", "order_log") for row in rows[table] if row[1] in (1, 3)}
    return {row[0] for row in (moved - everything) + (everything - moved)} <= concerned


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_what_is_taken_keeps_scopes_apart(chance):
    sql = Writer(chance).query()
    if is_taken(sql):
        for _ in range(4):
            rows = some_rows(chance)
            assert keeps_scopes_apart(sql, rows), (sql, rows)


def test_chance_writes_enough_that_is_taken_and_enough_that_mixes_scopes():
    taken, right, wrong = set(), 0, 0
    for seed in range(300):
        chance = random.Random(seed)
        sql = Writer(chance).query()
        if not sql.startswith("SELECT number") and " SELECT number" not in sql:
            continue
        holds = all(keeps_scopes_apart(sql, some_rows(chance)) for _ in range(4))
        if is_taken(sql):
            assert holds, sql
            taken.add(sql)
        right, wrong = right + holds, wrong + (not holds)
    assert len(taken) > 30
    assert min(right, wrong) > 60
