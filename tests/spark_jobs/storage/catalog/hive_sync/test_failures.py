"""Hudi's sync that does not get through: the session is left as it was, and the entry is not marked as synced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from spark_jobs.contracts.catalogs import Action, CatalogChange, CatalogColumn, CatalogTable
from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.catalog.hive_sync import HiveSync
from spark_jobs.storage.catalog.metastore import Metastore

URI = "thrift://127.0.0.1:1"
TABLE = CatalogTable(
    name="sales_rt",
    description="",
    location="/lake/sales",
    columns=(CatalogColumn(name="id", type="bigint"),),
    partition_keys=(CatalogColumn(name="event_date", type="string"),),
    input_format="",
    instant=Instant("20260101000000000"),
)


class Session:
    """The options of a session, and a procedure that fails; what it was given is kept."""

    def __init__(self, message: str) -> None:
        self.options: dict[str, str] = {"theirs": "stays"}
        self.given: Mapping[str, str] = {}
        self.conf, self._message = self, message

    def set(self, key: str, value: str) -> None:
        self.options[key] = value

    def unset(self, key: str) -> None:
        self.options.pop(key, None)

    def sql(self, statement: str) -> None:
        if statement.startswith("CALL hive_sync"):
            self.given = dict(self.options)
            raise RuntimeError(self._message)


def failure(session: Any, kind: type[Exception]) -> str:
    sync = HiveSync(
        metastore=Metastore(URI, "sales"),
        lake="sales",
        wanted={TABLE.name: TABLE},
        paths={TABLE.name: TABLE.location},
        spark=session,
    )
    with pytest.raises(kind) as caught:
        sync.apply([CatalogChange(name=TABLE.name, action=Action.CREATE)])
    return str(caught.value)


def test_a_sync_that_fails_may_be_tried_again_and_leaves_the_session_as_it_was():
    session = Session("HoodieException: hive sync failed\n\tat org.apache.hudi")
    text = failure(session, TransientError)
    assert text == f"sales_rt: Hudi's sync with {URI} failed; run sync apply again"
    assert session.given["hoodie.datasource.hive_sync.partition_fields"] == "event_date"
    assert session.options == {"theirs": "stays"}


def test_another_error_is_raised_as_it_is():
    session = Session("a mistake of ours")
    assert failure(session, RuntimeError) == "a mistake of ours"
    assert session.options == {"theirs": "stays"}
