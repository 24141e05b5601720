"""What a lake makes of a table of a database, by its spec: a database that answers from here has three columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from spark_jobs.connectors import mysql
from spark_jobs.connectors.dialect import Dialect
from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import ColumnKind, JdbcColumn
from spark_jobs.contracts.errors import ContractError
from spark_jobs.sources.jdbc.targets import SnapshotTarget
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.mirrors import shop_of

COLUMNS = [
    JdbcColumn(name="id", kind=ColumnKind.INTEGER, before="", behind=""),
    JdbcColumn(name="price", kind=ColumnKind.DECIMAL, before="", behind="", digits=(10, 2)),
]


@dataclass
class Answers:
    """In place of the database; ``queries`` are those that it had."""

    left_out: list[str] = field(default_factory=list)
    key: tuple[str, ...] = ("id",)
    queries: list[str] = field(default_factory=list)
    dialect: Dialect = mysql.DIALECT

    def columns(self, table: SourceTable) -> tuple[list[JdbcColumn], list[str]]:
        self.queries.append(f"columns of {table}")
        return COLUMNS, self.left_out

    def primary_key(self, table: SourceTable) -> tuple[str, ...]:
        self.queries.append(f"key of {table}")
        return self.key

    def query(self, query: str) -> list[dict[str, Any]]:
        raise AssertionError(query)


def target_of(spec: Any, table: str, **given: Any) -> tuple[SnapshotTarget, Answers]:
    answers: Any = Answers(**given)
    return SnapshotTarget(spec=spec, database=answers, table=SourceTable.parse(table), server_name="erp"), answers


def lake_with(**entry: Any) -> Any:
    document = {"lake": "shop", "source": {"topics": ["shop*"]}, "log": "log", "quarantine": "bad"}
    return parse_lake_spec({**document, "tables": [entry]})


def test_columns_are_those_of_the_database_with_decimals_as_they_are_wanted():
    target, _ = target_of(shop_of("items"), "shop.items", left_out=["place"])
    assert target.columns(has_text_decimals=False) == (COLUMNS, ["place"])
    columns, _ = target.columns(has_text_decimals=True)
    assert [column.digits for column in columns] == [None, None]


def test_a_table_that_nothing_is_made_of_is_refused():
    target, _ = target_of(shop_of("items"), "shop.orders")
    with pytest.raises(ContractError, match=r"--table shop\.orders is none of lake shop"):
        target.columns(has_text_decimals=False)


def test_a_key_that_the_table_does_not_have_is_named():
    target, _ = target_of(
        lake_with(name="a", **{"from": {"database": "shop", "table": "items"}}, key=["sku"]), "shop.items"
    )
    with pytest.raises(ContractError, match=r"has no column sku, which is its key"):
        target.columns(has_text_decimals=False)


def test_a_key_is_queried_once_and_only_where_a_pattern_finds_the_table():
    declared, answers = target_of(shop_of("items"), "shop.items")
    assert (declared.found_key, answers.queries) == ((), [])
    found, answers = target_of(lake_with(name="{table}", **{"from": {"database": "shop", "table": "*"}}), "shop.items")
    assert (found.found_key, found.found_key) == (("id",), ("id",))
    assert answers.queries == ["key of shop.items"]


def test_where_databases_are_distinguished_the_table_is_found_by_its_server():
    spec = lake_with(name="a", **{"from": {"server": "erp", "database": "shop", "table": "items"}}, key=["id"])
    target, _ = target_of(spec, "shop.items")
    assert target.columns(has_text_decimals=False) == (COLUMNS, [])
    other = SnapshotTarget(
        spec=spec, database=target.database, table=SourceTable.parse("shop.items"), server_name="another"
    )
    with pytest.raises(ContractError, match=r"is none of lake shop"):
        other.columns(has_text_decimals=False)
