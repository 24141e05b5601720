"""Every type of value that a snapshot reads, from real databases, and rows that the lake cannot hold.

Fixture: a table "Things" with two good rows, one of values at their ends and one of nulls; then rows that each have one
thing that cannot be used, and one that breaks a rule. For a lake that declares no key it has one, as "Lines" has, and
"Loose" has none.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from local_stack.servers.databases import Server
from spark_jobs.contracts.errors import ContractError
from spark_jobs.storage.lake_specs import read_lake_spec
from tests.support.envelopes import envelope, line, wrapped
from tests.support.lakes import in_utc
from tests.support.mirrors import decimal_field
from tests.support.snapshots import SnapshotLake, jdbc_url

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.timeout(600)]

BIG = "12345678901234567890123456.123456789012"
MOMENT = datetime(2026, 1, 1, 1, 2, 3, 123_456, tzinfo=UTC)
TEXT = 'O\'Neil; -- "Zoë" 🏠 \\ a\tb'
COLUMNS: dict[str, tuple[str, Any]] = {
    "Id": ("bigint", 2**62),
    "Small": ("bigint", -32768),
    "Amount": ("decimal", Decimal(BIG)),
    "Price": ("decimal", Decimal("-0.0100")),
    "Padded": ("string", "ab"),
    "Words": ("string", TEXT),
    "Mood": ("string", "good"),
    "Extra": ("string", '{"a": 1}'),
    "Bytes": ("string", base64.b64encode(b"\x00\xff").decode()),
    "IsGood": ("boolean", True),
    "Day": ("timestamp", datetime(2026, 2, 28, tzinfo=UTC)),
    "At": ("timestamp", MOMENT),
    "Moment": ("timestamp", MOMENT),
}
"""Of each column its type in the lake, and its value there."""
SCALES = {"Amount": (38, 12), "Price": (18, 4)}
VALUES = {
    "Id": 2**62,
    "Small": -32768,
    "Amount": BIG,
    "Price": "-0.01",
    "Padded": "ab",
    "Words": TEXT,
    "Mood": "good",
    "Extra": '{"a": 1}',
    "Bytes": b"\x00\xff",
    "IsGood": True,
    "Day": "2026-02-28",
    "At": "2026-01-01 01:02:03.123456",
    "Moment": "2026-01-01 01:02:03.123456",
}
DEFINED = {
    "postgresql": (
        "CREATE TYPE mood AS ENUM ('good', 'bad'); ALTER DATABASE {database} SET timezone TO 'America/New_York'; "
        "ALTER DATABASE {database} SET datestyle TO 'German'; "
        'CREATE TABLE "Things" ("Id" bigint, "Small" smallint, "Amount" numeric, "Price" numeric(18,4), '
        '"Padded" char(4), "Words" text, "Mood" mood, "Extra" json, "Bytes" bytea, "IsGood" boolean, "Day" date, '
        '"At" timestamp, "Moment" timestamptz, "Path" path, "Later" bigint[])'
    ),
    "mariadb": (
        "CREATE TABLE `Things` (`Id` bigint, `Small` smallint, `Amount` decimal(38,12), `Price` decimal(18,4), "
        "`Padded` char(4), `Words` text, `Mood` enum('good', 'bad'), `Extra` json, `Bytes` blob, `IsGood` bit(1), "
        "`Day` date, `At` datetime(6), `Moment` timestamp(6) NULL, `Path` linestring) CHARACTER SET utf8mb4"
    ),
}
ZONES = {"postgresql": "SET timezone TO 'UTC'", "mariadb": "SET time_zone = '+00:00'"}
BROKEN: dict[str, dict[str, dict[str, Any]]] = {
    "postgresql": {
        "bad_decimal": {"Amount": "NaN"},
        "bad_timestamp": {"At": "infinity"},
        "text_too_long": {"Words": "x" * 4_001},
        "missing_key": {"Id": None, "Small": 1},
    },
    "mariadb": {
        "text_too_long": {"Words": "x" * 4_001},
        "missing_key": {"Id": None, "Small": 1},
    },
}
"""By database and reason a row that goes to quarantine; MariaDB has no number or time that the lake could not hold."""


def make_lake(spark: Any, folder: Path, server: Server, database: str, **changes: str) -> SnapshotLake:
    """A lake of the columns, and a rule that Small is never 7."""
    names = {name: changes.get(name, type_) for name, (type_, _) in COLUMNS.items()} | changes
    columns: list[dict[str, Any]] = [{"name": n.lower(), "source": n, "type": type_} for n, type_ in names.items()]
    for column in columns:
        if column["type"] == "decimal":
            column["precision"], column["scale"] = SCALES[column["source"]]
    document = {
        "lake": "things",
        "source": {"topics": ["*.Things"], "key": "id", "columns": columns},
        "log": "things_log",
        "quarantine": "quarantine",
        "tables": [{"name": "things", "key": "id", "columns": [c["name"] for c in columns if c["name"] != "id"]}],
        "expectations": "expectations",
    }
    (folder / "expectations").mkdir(exist_ok=True)
    rule = {"small_is_not_seven": {"says": "No.", "holds": "coalesce(small, 0) <> 7", "action": "quarantine"}}
    (folder / "expectations" / "things_log.yaml").write_text(yaml.safe_dump(rule), encoding="utf-8")
    spec = folder / "lake.yaml"
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return SnapshotLake(spark=spark, folder=folder, spec=spec, url=jdbc_url(server, database))


def fill(server: Server, database: str, rows: list[dict[str, Any]]) -> None:
    engine = sa.create_engine(server.url(database), poolclass=sa.NullPool)
    quote = engine.dialect.identifier_preparer.quote_identifier
    with engine.begin() as connection:
        connection.exec_driver_sql(DEFINED[server.name].format(database=database))
    with engine.begin() as connection:
        connection.exec_driver_sql(ZONES[server.name])
        for row in rows:
            names = ", ".join(map(quote, row))
            marks = ", ".join(["%s"] * len(row))
            statement = " ".join(("INSERT INTO", quote("Things"), f"({names}) VALUES ({marks})"))
            connection.exec_driver_sql(statement, tuple(row.values()))


@pytest.mark.parametrize("kind", ["postgresql", pytest.param("mariadb", marks=pytest.mark.slice(name="databases"))])
def test_the_lake_has_each_value_as_the_database_has_it(spark, tmp_path, kind: str, request: pytest.FixtureRequest):
    server = request.getfixturevalue(kind)
    database = server.new_database()
    broken = BROKEN[server.name]
    bad = [{"Id": number, **row} for number, row in enumerate(broken.values(), start=100)]
    fill(server, database, [VALUES, {"Id": 1}, {"Id": 2, "Small": 7}, *bad])
    lake = make_lake(spark, tmp_path, server, database)
    schema = "public" if kind == "postgresql" else database
    result = lake.take(f"{schema}.Things", partition_column="Day", parts=3)

    refused = make_lake(spark, tmp_path, server, database, Path="string")
    with pytest.raises(ContractError, match=r"columns \['Path'\] are of types that a snapshot does not read"):
        refused.take(f"{schema}.Things", again=True)
    padded = "ab  " if kind == "postgresql" else "ab"
    expected = {name.lower(): value for name, (_, value) in COLUMNS.items()} | {"padded": padded}
    rows = {row["id"]: row for row in lake.rows("things_log")}
    assert {name: in_utc(rows[2**62][name]) for name in expected} == expected
    assert {name: rows[1][name] for name in expected} == {**dict.fromkeys(expected), "id": 1}
    assert rows[1]["read_from"] == f"jdbc:erp.{schema}.Things/0"

    rejected = lake.rows("quarantine")
    reasons = {row["reason"]: json.loads(bytes(row["raw"])) for row in rejected}
    assert reasons.keys() == {*broken, "broken_rule"}
    assert {record["payload"]["op"] for record in reasons.values()} == {"r"}
    assert reasons["broken_rule"]["payload"]["after"]["Small"] == 7
    counters = result.counters
    assert counters["rows_read"] == counters["records_read"] == 3 + len(broken)
    assert (
        counters["records_read"]
        == counters["events_new"] + counters["records_quarantined"]
        == len(rows) + len(rejected)
    )
    assert any("'Path'" in message for message in result.messages)


CONNECTORS_FIELDS: list[dict[str, Any]] = [
    {"field": "Id", "type": "int64"},
    {"field": "Small", "type": "int16"},
    {"field": "Amount", "type": "string"},
    {"field": "Price", **decimal_field(18, 4)},
    *({"field": name, "type": "string"} for name in ("Padded", "Words", "Mood", "Extra")),
    {"field": "Bytes", "type": "bytes"},
    {"field": "IsGood", "type": "boolean"},
    {"field": "Day", "type": "int32", "name": "io.debezium.time.Date"},
    {"field": "At", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    {"field": "Moment", "type": "string", "name": "io.debezium.time.ZonedTimestamp"},
]
"""As Debezium's connector of PostgreSQL describes the table, with decimals in bytes."""


KEYED_TABLES = (
    "ALTER TABLE {Things} ADD PRIMARY KEY ({Id})",
    "CREATE TABLE {Lines} ({Note} varchar(20), {Line} integer, {OrderId} bigint, PRIMARY KEY ({OrderId}, {Line}))",
    "INSERT INTO {Lines} VALUES ('a', 1, 7), ('b', 2, 7), ('c', 1, 8)",
    "CREATE TABLE {Loose} ({Id} bigint NOT NULL UNIQUE)",
    "INSERT INTO {Loose} VALUES (1)",
)
LINES_FIELDS = [
    {"field": "Note", "type": "string"},
    {"field": "Line", "type": "int32"},
    {"field": "OrderId", "type": "int64"},
]


def add_tables(server: Server, database: str) -> None:
    """A key for Things, a table whose key has another order than its columns, and one that has no primary key."""
    engine = sa.create_engine(server.url(database), poolclass=sa.NullPool)
    quote = engine.dialect.identifier_preparer.quote_identifier
    quoted = {name: quote(name) for name in ("Things", "Lines", "Loose", "Id", "Note", "Line", "OrderId")}
    with engine.begin() as connection:
        for statement in KEYED_TABLES:
            connection.exec_driver_sql(statement.format(**quoted))


@pytest.mark.slice(name="databases")
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_whole_database_is_found_by_its_primary_keys_and_takes_what_the_connector_sends(
    spark, tmp_path, kind: str, request: pytest.FixtureRequest
):
    server = request.getfixturevalue(kind)
    database = server.new_database()
    schema = "public" if kind == "postgresql" else database
    document = {
        "lake": "things",
        "source": {"topics": ["erp.*"]},
        "log": "things_log",
        "quarantine": "quarantine",
        "tables": [{"name": "{table}", "from": {"database": schema, "table": "*"}}],
    }
    spec = tmp_path / "lake.yaml"
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    fill(server, database, [VALUES, {"Id": 1, "Small": 3, "Words": "a"}])
    add_tables(server, database)
    lake = SnapshotLake(spark=spark, folder=tmp_path, spec=spec, url=jdbc_url(server, database))
    lake.take(f"{schema}.Things", partition_column="Id", parts=2, max_rows=1)
    lake.take(f"{schema}.Lines")
    assert any("loose: is not made, because its records do not say" in m for m in lake.take(f"{schema}.Loose").messages)
    found = read_lake_spec(lake.settings)
    assert {table.name: table.key for table in found.tables} == {"things": ("Id",), "lines": ("OrderId", "Line")}

    position = lake.snapshot(f"{schema}.Things", log="things_log").source
    place = "lsn" if kind == "postgresql" else "pos"
    source = {**position, "snapshot": "false", place: position[place] + 500_000}
    changed = {**dict.fromkeys(COLUMNS), "Id": 1, "Small": 4, "Day": 0}
    is_exact = kind == "mariadb"  # its numbers have a scale, and the blanks of a char are not kept
    amount = {"field": "Amount", **(decimal_field(38, 12) if is_exact else {"type": "string"})}
    fields = [amount if each["field"] == "Amount" else each for each in CONNECTORS_FIELDS]
    lake.land("things.jsonl", [line(wrapped(envelope("u", changed, source), fields))], topic="erp.a")
    events = [("u", {"Note": "z", "Line": 2, "OrderId": 7}), ("d", {"Note": "c", "Line": 1, "OrderId": 8})]
    source["table"] = "Lines"
    lake.land("lines.jsonl", [line(wrapped(envelope(*each, source), LINES_FIELDS)) for each in events], topic="erp.b")
    lake.run("ingest")
    lake.run("split")
    assert lake.rows("quarantine") == []
    rows = {row["id"]: {name: in_utc(value) for name, value in row.items()} for row in lake.rows("things")}
    expected = {name.lower(): value for name, (_, value) in COLUMNS.items()} | {
        "amount": Decimal(BIG) if is_exact else BIG,
        "price": Decimal("-0.0100"),
        "padded": "ab" if is_exact else "ab  ",
        "bytes": bytearray(b"\x00\xff"),
        "day": date(2026, 2, 28),
    }
    expected["is_good"] = expected.pop("isgood")
    assert {name: rows[2**62][name] for name in expected} == expected
    assert (rows[1]["small"], rows[1]["words"], rows[1]["day"]) == (4, None, date(1970, 1, 1))
    live = [(row["order_id"], row["line"], row["note"]) for row in lake.rows("lines") if not row["is_deleted"]]
    assert sorted(live) == [(7, 1, "a"), (7, 2, "z")]
