"""Random lakes: a wide log, tables of databases, shards, a pattern and a load in one spec, each with words of its own.

Every table at the source has the same columns, so that keys, partitions and exceptions can be drawn for each. Of what
is drawn two things come out: the document of the lake spec, and for each table what the oracle has to know of it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.service_lakes import HUNGRY

WIDE, PURCHASES, LINES = "erp.wide", "erp.purchases", "shop.lines"
SHARDS, FOUND, OTHERS = ("shop.orders_1", "shop.orders_2"), ("crm.accounts", "crm.notes"), "tmp.scratch"
COLUMNS = {
    "Id": ("id", "bigint"),
    "Line": ("line", "bigint"),
    "VendorId": ("vendor_id", "bigint"),
    "City": ("city", "string"),
    "Code": ("code", "string"),
    "Note": ("note", "string"),
    "Total": ("total", "decimal"),
    "PaidAt": ("paid_at", "timestamp"),
    "IsPaid": ("is_paid", "boolean"),
    "Qty": ("qty", "bigint"),
    "Extra": ("extra", "string"),
    "Day": ("day", "date"),
    "Photo": ("photo", "bytes"),
    "Rate": ("rate", "double"),
}
"""By name at the source the name in the lake and what it holds; ``Extra`` appears half-way, ``Qty`` gets wider."""
WITH_SCHEMA = ("Day", "Photo", "Rate")
"""Columns that are what they are by their schema alone, and that no wide log declares."""
PARTITIONS: Mapping[str, Sequence[str]] = {
    "City": ("value",),
    "Id": ("truncate",),
    "VendorId": ("value", "truncate"),
    "Qty": ("truncate",),
    "IsPaid": ("value",),
    "PaidAt": ("year", "month", "day"),
    "Day": ("year", "month", "day", "value"),
}
LOAD = {
    "name": "rates",
    "key": ["currency"],
    "load": {"columns": [{"name": "currency", "type": "string"}, {"name": "rate", "type": "bigint"}]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyTable:
    """What the oracle knows of a table: ``columns`` are those beside the key, by name at the source."""

    name: str
    sources: tuple[str, ...]
    key: Mapping[str, str]
    columns: Mapping[str, str]
    unknown: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    ignores_deletes: bool = False
    shard: str = ""
    history: bool = False


@dataclass(slots=True)
class AnyLake:
    """A lake that was drawn; ``has_schema`` are the tables at the source whose records say what their columns are."""

    document: dict[str, Any]
    tables: list[AnyTable] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    has_schema: set[str] = field(default_factory=set)


def draw_lake(rng: random.Random, *, is_small: bool) -> AnyLake:
    """A lake whose tables have random words; a small one has fewer tables of each kind."""
    source = {"topics": ["any.*"], "key": "id", "columns": [declared(name) for name in COLUMNS if is_wide(name)]}
    source |= rng.choice([{}, {"nulls": "unknown"}, {"nulls": "value"}])
    lake = AnyLake({"lake": "any", "source": source, "log": "any_log", "quarantine": "any_quarantine"})
    lake.document |= {"quality": {"table": "any_quality"}, "services": HUNGRY, "tables": []}
    lake.sources += [WIDE, PURCHASES]
    if rng.random() < 0.5:
        source["tables"] = [rng.choice(["*.WIDE", "erp.wide"])]
        lake.sources.append(OTHERS)
    lake.has_schema |= {each for each in (WIDE, PURCHASES, LINES, *SHARDS, *FOUND) if rng.random() < 0.6}
    keys = ["Id", *rng.sample(["VendorId", "City", "Code"], 1 if is_small else 2)]
    for key in keys:
        _add_wide(rng, lake, key)
    second = ["VendorId"], rng.choice([["VendorId", "City"], ["Code"], ["Line", "Note"]])
    _add_of_one_source(rng, lake, PURCHASES, {"purchases": ["Id"], "vendors": second[0], "others": second[1]})
    kinds = [_add_lines, _add_shards, _add_found]
    for add in rng.sample(kinds, 1) if is_small else kinds:
        add(rng, lake)
    if not is_small:
        lake.document["tables"].append(LOAD)
    return lake


def is_wide(column: str) -> bool:
    """True for a column that the wide log and records without a schema may have."""
    return column not in WITH_SCHEMA


def declared(column: str) -> dict[str, Any]:
    """The entry that declares a column."""
    name, type_ = COLUMNS[column]
    more: dict[str, dict[str, Any]] = {
        "decimal": {"precision": 18, "scale": 4},
        "timestamp": {"unit": {"default": "microseconds"}},
    }
    return {"name": name, "source": column, "type": type_, **more.get(type_, {})}


def _add_wide(rng: random.Random, lake: AnyLake, key: str) -> None:
    others = [name for name in COLUMNS if is_wide(name) and name != key]
    columns, name = rng.sample(others, rng.randint(1, len(others))), f"wide_{COLUMNS[key][0]}"
    deletes = rng.choice([None, "ignore", *(("tombstone", "remove") * 2 if key == "Id" else ())])
    entry = {"name": name, "key": COLUMNS[key][0], "columns": [COLUMNS[each][0] for each in columns]}
    entry |= {"deletes": deletes} if deletes else {}
    names = {each: COLUMNS[each][0] for each in (key, *columns)}
    words, unknown = _words(rng, names, columns, lake.document["source"].get("nulls", "unknown"))
    lake.document["tables"].append(entry | words)
    table = AnyTable(
        name=name,
        sources=(WIDE,),
        key={key: names.pop(key)},
        columns=names,
        unknown=unknown,
        ignores_deletes=deletes in (None, "ignore"),
        history=words["history"],
    )
    lake.tables.append(table)


def _add_of_one_source(
    rng: random.Random, lake: AnyLake, source: str, keys: Mapping[str, Sequence[str]], *, shards: Sequence[str] = ()
) -> None:
    """Tables by their name and key, all of one table at the source, or of shards; the first key is that of the rows."""
    every = [name for name in COLUMNS if all(s in lake.has_schema for s in shards or (source,)) or is_wide(name)]
    needed = {column for key in keys.values() for column in key}
    free = [name for name in every if name not in needed]
    rng.shuffle(free)
    drop, mask = free[: rng.choice([0, 0, 1])], free[1 : 1 + rng.choice([0, 0, 1, 2])]
    must = [each for each in ("Total", "PaidAt") if not shards and each not in mask and source not in lake.has_schema]
    must = [each for each in ("Total", "PaidAt") if each not in mask] if shards else must
    renamed = {each: f"own_{COLUMNS[each][0]}" for each in rng.sample(["VendorId", "Total"], rng.randint(0, 2))}
    renamed = {each: name for each, name in renamed.items() if each not in (*drop, *mask)}
    names = {each: renamed.get(each, COLUMNS[each][0]) for each in every if each not in drop}
    declare = [{**declared(each), "name": names[each]} for each in {*must, *renamed} if each in names]
    declare.sort(key=lambda column: str(column["name"]))
    for number, (name, key) in enumerate(keys.items()):
        values = [each for each in names if each not in key]
        chosen = rng.sample(values, rng.randint(1, len(values))) if rng.random() < 0.6 else values
        deletes = rng.choice(["tombstone", "remove", "tombstone", "remove", "ignore"]) if number == 0 else "ignore"
        database, _, table = source.partition(".")
        of = {"database": rng.choice([database, database.upper()]), "table": rng.choice([table, table.upper()])}
        entry: dict[str, Any] = {"name": name, "from": of, "key": [*key], "deletes": deletes}
        entry |= {"columns": "all"} if chosen is values else {"columns": chosen}
        entry |= {what: listed for what, listed in (("drop", drop), ("mask", mask)) if listed}
        entry |= {"declare": declare} if declare and (number == 0 or rng.random() < 0.5) else {}
        own = {each: names[each] for each in (*key, *chosen)}
        words, unknown = _words(rng, {each: each for each in own if each not in mask}, chosen, "value")
        if name == "orders":
            entry |= {"from": {"database": "shop", "table": rng.choice(["orders_*", "ORDERS_?"])}, "origin": "shard"}
        lake.document["tables"].append(entry | words)
        table_of = AnyTable(
            name=name,
            sources=tuple(shards) or (source,),
            key={each: own.pop(each) for each in key},
            columns=own,
            unknown=unknown,
            masked=frozenset(mask),
            ignores_deletes=deletes == "ignore",
            shard="shard" if shards else "",
            history=words["history"],
        )
        lake.tables.append(table_of)


def _add_lines(rng: random.Random, lake: AnyLake) -> None:
    lake.sources.append(LINES)
    _add_of_one_source(rng, lake, LINES, {"lines": ["Id", "Line"]})


def _add_shards(rng: random.Random, lake: AnyLake) -> None:
    lake.sources += SHARDS
    lake.has_schema -= {*SHARDS} if not {*SHARDS} <= lake.has_schema else set()
    _add_of_one_source(rng, lake, SHARDS[0], {"orders": ["Id"]}, shards=SHARDS)


def _add_found(rng: random.Random, lake: AnyLake) -> None:
    """A pattern, whose words hold for every table that it finds; its records have a schema, or nothing to declare."""
    lake.sources += FOUND
    lake.has_schema |= {*FOUND}
    deletes = rng.choice(["tombstone", "remove", "ignore"])
    words, unknown = _words(rng, {each: each for each in COLUMNS}, [*COLUMNS], "value")
    key = rng.choice([["Id"], {"default": "Id", "for": {"notes": ["Id", "Line"]}}])
    entry = {"name": "{database}_{table}", "from": {"database": "crm", "table": "*"}, "key": key, "deletes": deletes}
    lake.document["tables"].append(entry | words)
    for source in FOUND:
        own = ["Id", "Line"] if isinstance(key, dict) and source == FOUND[1] else ["Id"]
        table = AnyTable(
            name=source.replace(".", "_"),
            sources=(source,),
            key={each: COLUMNS[each][0] for each in own},
            columns={each: name for each, (name, _) in COLUMNS.items() if each not in own},
            unknown=unknown,
            ignores_deletes=deletes == "ignore",
            history=words["history"],
        )
        lake.tables.append(table)


def _words(
    rng: random.Random, names: Mapping[str, str], columns: Collection[str], default: str
) -> tuple[dict[str, Any], frozenset[str]]:
    """Words of an entry, and the columns in which null says nothing.

    ``names`` are its columns that are not masked, as an entry names them; ``default`` is what null means without one.
    """
    words: dict[str, Any] = {
        "type": rng.choice(["merge_on_read", "copy_on_write"]),
        "buckets": rng.randint(1, 2),
        "history": rng.random() < 0.4,
    }
    wanted = [each for each in PARTITIONS if each in names]
    if wanted and rng.random() < 0.4:
        partition = rng.choice(wanted)
        words |= {"partition": names[partition], "transform": rng.choice(PARTITIONS[partition])}
        words |= {"width": 3} if words["transform"] == "truncate" else {}
    rule, own = rng.choice([default, "unknown", "value"]), dict[str, str]()
    if rng.random() < 0.5:
        own = {each: rng.choice(["unknown", "value"]) for each in columns if each in names and rng.random() < 0.4}
    if own:
        words["nulls"] = {"default": rule, "columns": {names[each]: of for each, of in own.items()}}
    elif rule != default:
        words["nulls"] = rule
    return words, frozenset(each for each in columns if own.get(each, rule) == "unknown")
