"""Every kind of catalog that ``sync`` keeps."""

from __future__ import annotations

from spark_jobs.contracts.catalogs import form_of
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.storage.catalog.glue_sync import GLUE_CATALOG
from spark_jobs.storage.catalog.hive_sync import HIVE_METASTORE
from spark_jobs.storage.catalog.kind import CatalogKind

CATALOGS = {kind.form: kind for kind in (GLUE_CATALOG, HIVE_METASTORE)}


def catalog_at(address: str) -> CatalogKind:
    """The kind of the catalog at an address; SettingsError when no catalog is set."""
    if not address:
        raise SettingsError(
            "no catalog is set; set LAKEHOUSE_CATALOG to glue, or to a Hive metastore such as thrift://host:9083"
        )
    return CATALOGS[form_of(address)]
