"""The file of SQLite while another program holds it: a writer waits, and gives up in one clear line."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

from spark_jobs.contracts.errors import SettingsError, TransientError
from tests.support.serving import Place, assert_serves, file_of, serve


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return file_of(tmp_path / "serving.sqlite")


@pytest.fixture
def let_go(place: Place) -> Iterator[Callable[[], object]]:
    """Ends the transaction that another program began to write in the file, which is new and without a log."""
    with closing(sqlite3.connect(place.name, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE theirs (number INTEGER)")
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO theirs VALUES (1)")
        yield lambda: other.execute("COMMIT")


def test_a_store_waits_for_another_that_makes_the_file(place: Place, let_go: Callable[[], object]):
    timer = Timer(0.3, let_go)
    timer.start()
    serve(place.store(), 1)
    timer.join()
    assert_serves(place, 1)
    assert place.query("SELECT number FROM theirs") == [(1,)]


def test_a_store_does_not_wait_for_ever(place: Place, let_go: Callable[[], object]):
    with pytest.raises(TransientError) as caught:
        place.store(wait_seconds=1)
    assert "stays locked by another program" in str(caught.value)
    assert "\n" not in str(caught.value)
    let_go()
    serve(place.store(), 1)
    assert_serves(place, 1)


def test_a_file_that_may_not_be_written_is_not_waited_for(place: Place):
    with closing(sqlite3.connect(place.name)) as theirs:
        theirs.execute("CREATE TABLE theirs (number INTEGER)")
    with pytest.raises(SettingsError) as caught:
        place.store(f"sqlite:///file:{place.name}?mode=ro&uri=true", wait_seconds=1)
    assert "readonly database; correct LAKEHOUSE_SERVING_URL or the user's rights there" in str(caught.value)
