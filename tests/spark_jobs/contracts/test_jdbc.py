"""Addresses of databases, names of tables, and how far snapshots have come."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.jdbc import (
    Dialect,
    JdbcAddress,
    Snapshot,
    SourceTable,
    check_server_name,
    pack_snapshots,
    unpack_snapshots,
)
from spark_jobs.contracts.secrets import find_secrets, hide
from spark_jobs.contracts.settings import Settings
from tests.support.hostile_names import HOSTILE


@pytest.mark.parametrize(
    ("text", "dialect", "url", "shown"),
    [
        ("jdbc:postgresql://db:5432/erp", Dialect.POSTGRESQL, "jdbc:postgresql://db:5432/erp", "db:5432/erp"),
        ("jdbc:mariadb://db/erp", Dialect.MYSQL, "jdbc:mysql://db/erp?permitMysqlScheme", "db/erp"),
        ("jdbc:mysql://db/erp?sslMode=verify-full", Dialect.MYSQL,
         "jdbc:mysql://db/erp?sslMode=verify-full&permitMysqlScheme", "db/erp"),
        ("jdbc:sqlserver://db:1433;databaseName=erp", Dialect.SQLSERVER,
         "jdbc:sqlserver://db:1433;databaseName=erp", "db:1433"),
    ],
)  # fmt: skip
def test_an_address_says_whose_sql_it_is(text, dialect, url, shown):
    address = JdbcAddress.parse(text)
    assert (address.dialect, address.url, address.shown) == (dialect, url, shown)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://db/erp",
        "jdbc:oracle:thin:@db:1521/erp",
        "jdbc:postgresql:erp",
        "jdbc:postgresql://db/erp\nx",
        "jdbc:postgresql://db/erp?user=me",
        "jdbc:postgresql://db/erp?user=me&password=hidden-word",
        "jdbc:mariadb://me:@db/erp",
        "jdbc:sqlserver://db;databaseName=erp;user=me;password=hidden-word",
    ],
)
def test_no_address_and_one_with_a_login_are_refused_without_being_told(text):
    with pytest.raises(SettingsError, match="LAKEHOUSE_JDBC_URL") as caught:
        JdbcAddress.parse(text)
    assert "hidden-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://db/erp", "?loginTimeout=30&connectTimeout=30&socketTimeout=90"),
        ("jdbc:postgresql://db/erp?SOCKETTIMEOUT=5&sslmode=require", "&loginTimeout=30&connectTimeout=30"),
        ("jdbc:mariadb://db/erp", "&connectTimeout=30000&socketTimeout=90000"),
        ("jdbc:sqlserver://db;databaseName=erp;", "loginTimeout=30;socketTimeout=90000"),
        ("jdbc:sqlserver://db;databaseName=erp;socketTimeout=1", ";loginTimeout=30"),
    ],
)
def test_a_silent_database_is_given_up_unless_the_url_says_otherwise(url, expected):
    address = JdbcAddress.parse(url)
    assert address.with_timeouts(90) == f"{address.url}{expected}"


def test_a_login_is_shown_nowhere():
    environment = {"LAKEHOUSE_JDBC_URL": "jdbc:mysql://db/e?password=hidden-1", "LAKEHOUSE_JDBC_PASSWORD": "hidden-2"}
    settings = Settings.from_environment(environment)
    assert "hidden" not in repr(settings)
    assert hide("hidden-1 or hidden-2", find_secrets(environment)) == "*** or ***"


def test_a_table_has_a_schema():
    table = SourceTable.parse("public.SALES")
    assert (table.schema, table.name, str(table)) == ("public", "SALES", "public.SALES")


@pytest.mark.parametrize("name", ["SALES", "a.b.c", ".SALES", "public.", "public.'; --", 'p."x"', "p.`x`", "p.[x]"])
def test_what_is_no_tables_name_is_refused(name):
    with pytest.raises(ContractError, match="--table"):
        SourceTable.parse(name)


_LETTERS = re.compile(r"[\w -]{1,128}")
"""Letters of any script may be a name at the source, which is quoted and compared as it is."""


@pytest.mark.parametrize("name", [name for name in HOSTILE.values() if not _LETTERS.fullmatch(name)])
@pytest.mark.parametrize("form", ["public.{}", "{}.SALES", "{0}.{0}"])
def test_neither_schema_nor_table_is_more_than_a_name(form, name):
    with pytest.raises(ContractError, match="--table"):
        SourceTable.parse(form.format(name))


@pytest.mark.parametrize("name", ["", "a b", "erp:1", "..", "-rf", *map(HOSTILE.get, ("statement", "cyrillic"))])
def test_what_is_no_connectors_name_is_refused(name):
    with pytest.raises(ContractError, match="--server-name"):
        check_server_name(name)


snapshots = st.builds(
    Snapshot,
    source=st.dictionaries(st.sampled_from(["connector", "lsn", "file"]), st.none() | st.integers() | st.text()),
    column=st.text(),
    kind=st.sampled_from(["integer", "date"]),
    **dict.fromkeys(("low", "high", "parts", "done", "expected", "read"), st.integers()),
)


@given(st.dictionaries(st.text(), snapshots, max_size=4))
def test_progress_is_read_as_it_was_written(known):
    assert unpack_snapshots(pack_snapshots(known)) == known
    assert unpack_snapshots(None) == {}
