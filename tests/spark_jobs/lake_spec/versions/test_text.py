"""The SELECT of versions as engines read it, and the columns that it is made of."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.versions import history_columns, versions_select
from spark_jobs.spec_files.spec_file import parse_lake_spec

ENTRY = {"name": "prices", "key": ["ShopId", "order"], "from": {"database": "shop", "table": "prices"}, "history": True}
STORED = (
    *("_hoodie_commit_time", "history__key", "shop_id", "order", "group", "valid_from"),
    *("row_order", "is_deleted", "history__time", "history__unsaid"),
)


def query_of(text: str, dialect: str) -> exp.Query:
    query = parse_one(text, dialect=dialect)
    assert isinstance(query, exp.Query)
    return query


def lake_of(**more):
    document = {"lake": "shop", "source": {"topics": ["shop.*"]}, "log": "log", "quarantine": "bad"}
    return parse_lake_spec({**document, "tables": [ENTRY], **more}, ())


def test_it_is_the_same_query_for_every_engine():
    spec = lake_of()
    table = spec.table("prices")
    columns = history_columns(table, STORED)
    assert columns == ("shop_id", "order", "group", "valid_from")
    spark, trino = (
        query_of(versions_select(table, columns, spec, source="prices_history", quote=quote), dialect)
        for quote, dialect in (("`", "spark"), ('"', "trino"))
    )
    assert spark.sql(dialect="spark").replace("`", '"') == trino.sql(dialect="trino")
    assert [each.alias_or_name for each in spark.selects] == [
        *("shop_id", "order", "group", "valid_from_", "valid_from", "valid_to")
    ]


def test_a_table_of_the_key_alone_has_versions_too():
    spec = lake_of()
    table = spec.table("prices")
    select = versions_select(table, history_columns(table, ()), spec, source="prices_history", quote='"')
    assert query_of(select, "trino").named_selects == ["shop_id", "order", "valid_from", "valid_to"]


def test_a_column_is_called_as_another_table_of_the_source_declares_it():
    """The log has one name for it, so the key of ``prices`` is stored under that too."""
    declared = [{"name": "shop", "source": "ShopId", "type": "bigint"}]
    shops = {**ENTRY, "name": "shops", "key": ["ShopId"], "history": False, "deletes": "ignore", "declare": declared}
    spec = lake_of(tables=[{**ENTRY, "deletes": "tombstone"}, shops])
    for table, key in (("prices", ("shop", "order")), ("shops", ("shop",))):
        stored = (*key, "group", "row_order", "is_deleted")
        assert history_columns(spec.table(table), stored) == (*key, "group")


def test_its_history_is_a_table_of_the_lake():
    spec = lake_of()
    assert spec.histories == ("prices_history",)
    assert "prices_history" in spec.data_tables
    assert spec.split_tables == ["prices_history", "prices"]
    assert "prices_history" not in spec.validated_tables


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({**ENTRY, "name": "prices_versions", "history": False}, "used twice.*prices_versions"),
        ({**ENTRY, "name": "prices_history", "history": False}, "used twice.*prices_history"),
        ({**ENTRY, "name": "p" * 55}, "at most 54 characters; shorten it"),
        ({"name": "days", "key": "day", "history": True, "load": {"columns": []}}, "history is for tables of events"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(entry, reason):
    with pytest.raises(ContractError, match=reason):
        lake_of(tables=[ENTRY, entry])


def test_versions_have_columns_of_their_own():
    columns = [{"name": name, "source": name, "type": "bigint"} for name in ("id", "valid_to")]
    table = {"name": "things", "key": "id", "columns": ["valid_to"], "history": True}
    with pytest.raises(ContractError, match="valid_to is a column of its versions; call it otherwise"):
        lake_of(source={"topics": ["t"], "key": "id", "columns": columns}, tables=[table])
