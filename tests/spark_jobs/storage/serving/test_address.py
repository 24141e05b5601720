"""Where the store is: every wrong answer to that is one clear line, and none of them shows the password."""

from __future__ import annotations

import socket
import sys
import traceback
from pathlib import Path
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_stack.servers.databases import PASSWORD
from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.serving.address import Database, ServingAddress, parse_address
from spark_jobs.storage.serving.store import ServingStore
from tests.support.serving import MART, Place, serve

SECRET = "hunter-two"


def open_store(url: str) -> ServingStore:
    return ServingStore(parse_address(Settings(serving_url=url)), wait_seconds=1)


def refusal(url: str, kind: type[Exception]) -> str:
    """The one line of an error; nothing that is printed of it, in any way, has the secret."""
    with pytest.raises(kind) as caught:
        open_store(url)
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for secret in (SECRET, PASSWORD, "hunter"):
        assert secret not in printed
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_url_is_shown_nowhere():
    settings = Settings.from_environment({"LAKEHOUSE_SERVING_URL": f"postgresql://me:{SECRET}@host/db"})
    assert settings.serving_url.endswith("@host/db")
    for text in (repr(settings), str(settings), repr(parse_address(settings)), parse_address(settings).name):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("url", "database", "driver", "name"),
    [
        ("postgresql://me@host/db", Database.POSTGRESQL, "postgresql+psycopg2", "postgresql://host/db"),
        ("postgres://me@host:5433/db", Database.POSTGRESQL, "postgresql+psycopg2", "postgresql://host:5433/db"),
        ("postgresql+psycopg2:///db?host=/run", Database.POSTGRESQL, "postgresql+psycopg2", "postgresql:///db"),
        ("mysql://me@host/db", Database.MYSQL, "mysql+pymysql", "mysql://host/db"),
        ("mariadb+pymysql://me@host/db?charset=utf8mb4", Database.MYSQL, "mysql+pymysql", "mysql://host/db"),
        ("sqlite:////tmp/x.sqlite", Database.SQLITE, "sqlite+pysqlite", "/tmp/x.sqlite"),
    ],
)
def test_the_installed_driver_is_chosen(url, database, driver, name):
    address = parse_address(Settings(serving_url=url))
    assert (address.database, address.url.drivername, address.name) == (database, driver, name)


def test_without_a_url_it_is_a_file_beside_the_tables(tmp_path: Path):
    address = parse_address(Settings(base_path=str(tmp_path / "lake")))
    assert (address.database, address.name) == (Database.SQLITE, str(tmp_path / "lake/.serving/serving.sqlite"))
    ServingStore(address, wait_seconds=1)
    assert Path(address.name).exists()


def test_a_lake_in_the_cloud_needs_a_database():
    with pytest.raises(SettingsError, match="set LAKEHOUSE_SERVING_URL"):
        parse_address(Settings(base_path="s3a://bucket/lake"))


def test_a_lake_whose_folder_cannot_hold_the_file_needs_another_place(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        SettingsError, match=r"^cannot make .*/file/\.serving \(Not a directory\); set LAKEHOUSE_SERVING"
    ):
        parse_address(Settings(base_path=str(tmp_path / "file")))


@pytest.mark.parametrize(("kind", "driver"), [("postgresql", "psycopg2"), ("mysql", "pymysql")])
def test_a_driver_that_is_not_installed_is_named(kind: str, driver: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, driver, None)
    line = refusal(f"{kind}://me:{SECRET}@host/db", SettingsError)
    assert line.startswith(f"LAKEHOUSE_SERVING_URL: {kind}://host/db cannot be connected to (")
    assert driver in line
    assert line.endswith("; correct it")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (SECRET, "is not a database URL"),
        (f"postgresql://me:{SECRET}@host:port/db", "is not a database URL"),
        (f"oracle://me:{SECRET}@host/db", "'oracle' is no database this store can be"),
        (f"mysql+mysqldb://me:{SECRET}@host/db", "driver 'mysqldb' is not installed; write mysql:// to use pymysql"),
        (f"postgresql+asyncpg://me:{SECRET}@host/db", "driver 'asyncpg' is not installed"),
        (f"mysql://me:{SECRET}@host", "names no database"),
        (f"mysql://me:{SECRET}@host/", "names no database"),
        ("sqlite://", "names no database"),
        ("sqlite:///:memory:", "names no database"),
        (f"mysql://me@host/db?nonsense={SECRET}", "'nonsense'"),
        (f"mysql://me:{SECRET}@host/db?connect_timeout=soon", "cannot be connected to"),
        ("sqlite:////tmp/x.sqlite?timeout=soon", "cannot be connected to"),
        (f"postgresql://me@/db?host=/nowhere&nonsense={SECRET}", 'invalid connection option "nonsense"'),
    ],
)
def test_a_url_that_makes_no_sense(url, words):
    assert words in refusal(url, SettingsError)


def test_files_that_are_no_database(tmp_path: Path):
    (tmp_path / "text.sqlite").write_text("this is a letter, and not a short one " * 100)
    (tmp_path / "folder.sqlite").mkdir()
    for name in ("text.sqlite", "folder.sqlite", "nowhere/x.sqlite"):
        assert "correct LAKEHOUSE_SERVING_URL" in refusal(f"sqlite:///{tmp_path / name}", SettingsError)


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_server_that_does_not_answer_may_be_tried_again(kind):
    with socket.socket() as held:  # bound and not listening
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        line = refusal(f"{kind}://me:{SECRET}@127.0.0.1:{port}/db", TransientError)
    assert line.startswith(f"serving store {kind}://127.0.0.1:{port}/db: ")
    assert line.endswith("run it again")


@pytest.mark.services
def test_a_wrong_password(server_place: Place):
    assert server_place.server is not None
    line = refusal(server_place.server.url(server_place.name, password=SECRET), SettingsError)
    assert "correct LAKEHOUSE_SERVING_URL" in line


@pytest.mark.services
def test_a_database_that_is_not_there(server_place: Place):
    assert server_place.server is not None
    assert "nowhere" in refusal(server_place.server.url("nowhere"), SettingsError)


@pytest.mark.services
def test_a_user_without_rights(server_place: Place):
    """Who may read, but neither make nor change a table."""
    server = server_place.server
    assert server is not None
    serve(server_place.store(), 1)
    reader = f"stranger_of_{server_place.name}"
    if server_place.database is Database.MYSQL:
        server.admin(f"CREATE USER {reader}@localhost IDENTIFIED BY '{PASSWORD}'")
        server.admin(f"GRANT SELECT ON {server_place.name}.* TO {reader}@localhost")
    else:
        server.admin(f"CREATE USER {reader} PASSWORD '{PASSWORD}'")
        server_place.query(f"GRANT SELECT ON {MART}, served_marts TO {reader}")
    url = server_place.url.replace("writer:", f"{reader}:", 1)
    store = open_store(url)
    with pytest.raises(SettingsError, match="correct LAKEHOUSE_SERVING_URL or the user's rights there") as caught:
        serve(store, 2)
    assert PASSWORD not in str(caught.value)


def test_secrets_are_hidden_in_every_form():
    escaped = quote("a/b c", safe="")
    address = parse_address(Settings(serving_url=f"postgresql://me:{escaped}@host/db?sslpassword=other-one"))
    assert isinstance(address, ServingAddress)
    assert address.hide("got a/b c or a%2Fb%20c or a%2Fb+c,\n or other-one") == "got *** or *** or ***, or ***"


WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0<>*"), min_size=4, max_size=12)


@given(password=WORD, more=WORD, name=st.sampled_from(["password", "sslpassword", "passwd", "token", "client_secret"]))
def test_no_secret_of_a_url_is_shown_in_any_form(password, more, name):
    """Also when one of them begins another one."""
    for other in (more, f"{password}{more}"):
        query = urlencode({name: other})
        address = parse_address(Settings(serving_url=f"postgresql://me:{quote(password, safe='')}@host/db?{query}"))
        for secret in (password, other):
            for form in (secret, quote(secret, safe=""), quote_plus(secret)):
                assert address.hide(f"<{form}><{form}>") == "<***><***>"
