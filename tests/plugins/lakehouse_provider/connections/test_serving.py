"""An Airflow connection becomes the SQLAlchemy URL of the serving store; SQLAlchemy itself reads it back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk import Connection
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from lakehouse_provider.connections.serving import serving_url
from spark_jobs.contracts.errors import SettingsError

PASSWORD = "p@ss/w:rd ?"


def url_of(**facts: Any) -> str:
    extra = facts.pop("extra", None)
    return serving_url(Connection(conn_id="lakehouse_serving", extra=json.dumps(extra) if extra else None, **facts))


@pytest.mark.parametrize(
    ("kind", "drivername"),
    [
        ("mysql", "mysql"),
        ("mysql+pymysql", "mysql+pymysql"),
        ("mariadb", "mariadb"),
        ("postgres", "postgresql"),
    ],
)
def test_every_part_comes_through(kind: str, drivername: str) -> None:
    url = make_url(
        url_of(conn_type=kind, host="db.example", port=3307, login="dash board", password=PASSWORD, schema="answers")
    )
    assert (url.drivername, url.host, url.port, url.database) == (drivername, "db.example", 3307, "answers")
    assert (url.username, url.password) == ("dash board", PASSWORD)


def test_the_extra_is_the_urls_query_and_may_name_the_dialect() -> None:
    extra = {"dialect": "postgresql+asyncpg", "application_name": "lake & house"}
    url = make_url(url_of(conn_type="generic", host="::1", schema="d", extra=extra))
    assert (url.drivername, url.host, dict(url.query)) == (
        "postgresql+asyncpg", "::1", {"application_name": "lake & house"}
    )  # fmt: skip
    assert (url.username, url.password, url.port) == (None, None, None)


@pytest.mark.parametrize("facts", [{"schema": "/data/s.sqlite"}, {"host": "/data/s.sqlite"}])
def test_a_sqlite_file_is_named_by_schema_or_host(facts: dict[str, str]) -> None:
    assert make_url(url_of(conn_type="sqlite", **facts)).database == "/data/s.sqlite"


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:////data/s.sqlite",
        "postgresql+psycopg2://u:p%40w@h:5433/d",
        "mysql+pymysql://u:p%40w@h/d?charset=utf8mb4",
    ],
)
def test_a_connection_given_as_a_url_is_that_url(text: str) -> None:
    found = make_url(serving_url(Connection.from_uri(text, conn_id="lakehouse_serving")))
    assert found == make_url(text)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"conn_type": "generic", "host": "h", "schema": "d"}, "names no kind of database"),
        ({"host": "h", "schema": "d"}, "names no kind of database"),
        ({"conn_type": "mysql", "host": "h"}, "names no database; give one as its schema"),
    ],
)
def test_a_connection_that_cannot_work_is_refused(facts: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        url_of(**facts)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
NAME = TEXT | st.sampled_from(["a?b", "a%41b", "a b", "a+b", "a/b", "a@b", "a:b", "a#b", "a&b=c"])


@given(login=NAME, password=NAME, schema=NAME, value=NAME)
def test_whatever_login_password_database_and_parameters_are(
    login: str, password: str, schema: str, value: str
) -> None:
    facts = Connection(conn_id="c", conn_type="postgres", host="db", port=1, extra=json.dumps({"options": value}))
    facts.login, facts.password, facts.schema = login, password, schema
    url = make_url(serving_url(facts))
    assert (url.username, url.password, dict(url.query)) == (login, password, {"options": value})
    assert (url.host, url.port) == ("db", 1)
    assert url.database == schema


@given(path=NAME.filter(lambda path: path.strip("/") != ""))
def test_whatever_a_sqlite_file_is_called(path: str) -> None:
    facts = Connection(conn_id="c", conn_type="sqlite")
    facts.schema = f"/data/{path}"
    assert make_url(serving_url(facts)).database == f"/data/{path}"
