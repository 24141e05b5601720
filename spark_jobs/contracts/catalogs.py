"""A table as a Hive-like catalog describes it, and the changes that bring a catalog up to date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from spark_jobs.contracts.instants import Instant

GLUE, METASTORE = "glue", "thrift://host:9083"
CATALOG_FORMS = {GLUE: re.compile(GLUE), METASTORE: re.compile(r"thrift://[A-Za-z0-9._-]{1,253}:[0-9]{1,5}")}
"""What ``LAKEHOUSE_CATALOG`` may be, by an example of each form: the Glue data catalog of the account that the job
runs in, or a Hive metastore."""

SYNCED = "last_commit_time_sync"
"""Table parameter: the instant up to which the catalog was brought, by the name that Hudi's own sync gives it."""
OWNER = "lakehouse.lake"
"""Table parameter: the lake that the entry belongs to. An entry without it is not this product's and is not touched."""

HELD = "lakehouse.held"
"""Table parameter: ``no``, or since when the table is held for what (docs/quality.md)."""


def form_of(address: str) -> str:
    """The form of an address in :data:`CATALOG_FORMS`; "" when it has none of them."""
    return next((form for form, pattern in CATALOG_FORMS.items() if pattern.fullmatch(address)), "")


class Action(StrEnum):
    """What is to be done with one entry of a catalog."""

    CREATE_DATABASE = "create database"
    CREATE = "create"
    UPDATE = "update"
    DROP = "drop"
    ADD_PARTITIONS = "add partitions"
    UPDATE_PARTITIONS = "update partitions"
    DROP_PARTITIONS = "drop partitions"
    REFUSE = "refuse"
    """The name is taken by an entry that is not this lake's: a person has to decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogColumn:
    """A column by its Hive type."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """What a catalog should say of one table, or of one of the two views of a merge-on-read table.

    ``parameters`` are without ``SYNCED``: that is ``instant``, and is written after everything else.
    """

    name: str
    description: str
    location: str
    columns: tuple[CatalogColumn, ...]
    partition_keys: tuple[CatalogColumn, ...]
    input_format: str
    instant: Instant
    is_read_optimized: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChange:
    """One thing to do; ``what`` says it to people, ``partitions`` are the values it is about."""

    name: str
    action: Action
    what: str = ""
    partitions: tuple[str, ...] = ()
