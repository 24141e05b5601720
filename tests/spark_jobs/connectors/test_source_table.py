"""Names of tables and of connectors, as people give them."""

from __future__ import annotations

import re

import pytest

from spark_jobs.connectors.source_table import SourceTable, check_server_name
from spark_jobs.contracts.errors import ContractError
from tests.support.hostile_names import HOSTILE


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
