"""By which columns people are named in a wide log, in tables at the source and in whole files, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.naming import columns_of_people, event_namings, naming_of
from spark_jobs.lake_spec.people import Naming
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import parse_lake_spec

COLUMNS = [
    {"name": "sale_id", "source": "SaleId", "type": "bigint"},
    {"name": "customer_id", "source": "CustomerId", "type": "bigint"},
    {"name": "customer_name", "source": "CustomerName", "type": "string"},
]
TABLES: list[dict[str, Any]] = [
    {"name": "sales", "key": "sale_id", "columns": ["customer_id"]},
    {"name": "clients", "from": {"database": "crm", "table": "Clients"}, "key": ["Id"], "mask": ["Phone"]},
    {"name": "client_mails", "from": {"database": "crm", "table": "Clients"}, "key": ["Id"], "mask": ["Phone"]},
    {"name": "orders", "from": {"database": "crm", "table": "orders"}, "key": ["no"], "partition": "Month"},
    {
        "name": "scores",
        "key": "client",
        "load": {"columns": [{"name": "client", "type": "bigint"}, {"name": "name", "type": "string"}]},
    },
]
NAMED = {
    "clients": {"key": "Id", "columns": ["FullName"]},
    "client_mails": {"key": "Id", "columns": ["EMail"]},
    "orders": {"key": "ClientId"},
    "scores": {"key": "client", "columns": ["name"]},
}


def lake(tables: dict[str, Any], **person: Any) -> LakeSpec:
    named = {"key": "customer_id", "columns": ["customer_name"], **person}
    return parse_lake_spec(
        {
            "lake": "company",
            "source": {"topics": ["*"], "key": "sale_id", "columns": COLUMNS, "tables": ["*.SALES"]},
            "log": "log",
            "quarantine": "bad",
            "tables": TABLES,
            "people": {"customer": {**named, "tables": tables}},
        }
    )


SPEC = lake(NAMED)
(CUSTOMER,) = SPEC.people


def test_each_table_names_them_by_columns_of_its_own():
    found = {name: naming_of(CUSTOMER, name, SPEC) for name in ("log", *(t["name"] for t in TABLES))}
    wide = Naming(key="customer_id", columns=("customer_name",))
    assert found == {
        "log": wide,
        "sales": wide,
        "clients": Naming(key="id", columns=("full_name",)),
        "client_mails": Naming(key="id", columns=("e_mail",)),
        "orders": Naming(key="client_id"),
        "scores": Naming(key="client", columns=("name",)),
    }


def test_events_name_them_as_every_table_that_is_made_of_them_does():
    assert event_namings(CUSTOMER, SPEC) == {
        "crm.clients": (Naming(key="Id", columns=("FullName",)), Naming(key="Id", columns=("EMail",))),
        "crm.orders": (Naming(key="ClientId"),),
    }


def test_columns_with_names_are_those_of_the_table_alone():
    assert columns_of_people(SPEC, "clients") == {"full_name"}
    assert columns_of_people(SPEC, "sales") == {"customer_name"}
    assert columns_of_people(SPEC, "orders") == frozenset()
    assert columns_of_people(SPEC) == {"customer_name", "full_name", "e_mail", "name"}


def test_a_lake_may_have_people_in_tables_alone():
    (person,) = lake(NAMED, key="", columns=[]).people
    assert naming_of(person, "sales", lake(NAMED, key="", columns=[])) is None


@pytest.mark.parametrize(
    ("table", "named", "message"),
    [
        ("client", {"key": "Id"}, "people: customer: client is no table with from or load; write 'clients'"),
        ("sales", {"key": "customer_id"}, "people: customer: sales is no table with from or load"),
        ("clients", {}, "people: customer: clients: missing key; name the column"),
        ("clients", {"key": "Id", "columns": ["Phone"]}, "column 'Phone' is masked, so it names no one; take it out"),
        ("clients", {"key": "No", "columns": ["Id"]}, "'Id' is of the table's key, which cannot be empty"),
        ("orders", {"key": "Month"}, "'Month' is the table's partition; partition otherwise"),
        ("scores", {"key": "clients"}, "scores has no column 'clients'; write 'client'"),
        ("scores", {"key": "client", "column": ["name"]}, r"unknown entries ['column']; write columns"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy(table: str, named: dict[str, Any], message: str):
    with pytest.raises(ContractError) as caught:
        lake({**NAMED, table: named})
    assert message in str(caught.value)
