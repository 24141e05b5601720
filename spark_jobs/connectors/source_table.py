"""Tables of a database, and the name of its connector, as people give them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show

_TABLE_NAME = re.compile(r"[\w$#@ -]{1,128}")
_SERVER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,248}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A table of a database; its ``schema`` is the database with MySQL and MariaDB."""

    schema: str
    name: str

    @classmethod
    def parse(cls, text: str) -> SourceTable:
        """Read ``--table``; ContractError when it is no name with its schema."""
        schema, dot, name = text.partition(".")
        if not dot or not _TABLE_NAME.fullmatch(schema) or not _TABLE_NAME.fullmatch(name):
            raise ContractError(
                f"--table {show(text)} is no table's name with its schema; give for example public.SALES or, with "
                f"MySQL and MariaDB, database.SALES"
            )
        return cls(schema=schema, name=name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def check_server_name(name: str) -> None:
    """Raise ContractError unless ``name`` can be what a connector is called."""
    if not _SERVER_NAME.fullmatch(name):
        raise ContractError(
            f"--server-name {show(name)} is no name of a connector; give its topic.prefix (letters, digits, '.', '_', "
            f"'-'), with which the ids of its events begin"
        )
