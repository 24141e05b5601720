"""Every form of address that the settings take is of one kind of catalog."""

from __future__ import annotations

import pytest

from spark_jobs.contracts.catalogs import CATALOG_FORMS, form_of
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.catalog.registry import CATALOGS, catalog_at


def test_each_form_has_a_kind_of_its_own():
    assert {*CATALOGS} == {*CATALOG_FORMS}
    for form in CATALOG_FORMS:
        assert form_of(form) == form, "the example of a form is one of its addresses"
        assert catalog_at(Settings(catalog=form).catalog).form == form


@pytest.mark.parametrize("address", ["hive", "Glue", "thrift://", "thrift://host", "http://host:9083"])
def test_other_addresses_are_refused_by_the_settings(address: str):
    with pytest.raises(SettingsError, match="LAKEHOUSE_CATALOG="):
        Settings(catalog=address)


def test_without_a_catalog_the_error_says_how_to_set_one():
    with pytest.raises(SettingsError, match="no catalog is set; set LAKEHOUSE_CATALOG to glue"):
        catalog_at("")
