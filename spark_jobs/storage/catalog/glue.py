"""AWS Glue's data catalog: one database of it, with its limits, its errors and its throttling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from spark_jobs.contracts.catalogs import OWNER
from spark_jobs.contracts.errors import SettingsError, TransientError

_MOST_CREATED, _MOST_UPDATED, _MOST_DELETED = 100, 100, 25
"""Partitions in one call (AWS Glue API: BatchCreatePartition, BatchUpdatePartition, BatchDeletePartition)."""
_DONE_ALREADY = frozenset({"AlreadyExistsException", "EntityNotFoundException"})
_PASSING = frozenset(
    {"ThrottlingException", "ConcurrentModificationException", "InternalServiceException", "OperationTimeoutException"}
)
_ATTEMPTS = 10


class Glue:
    """One database. Region, credentials and endpoint come from where every AWS client takes them.

    Raises, from every call:
        TransientError: it does not answer, or still throttles after ten attempts.
        SettingsError: it refuses the call: rights, region or names are wrong.
    """

    def __init__(self, database: str) -> None:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        try:
            config = Config(retries={"mode": "standard", "max_attempts": _ATTEMPTS}, connect_timeout=5, read_timeout=30)
            self._client: Any = boto3.client("glue", config=config)
        except BotoCoreError as error:
            raise SettingsError(f"AWS Glue cannot be called ({error}); set AWS_DEFAULT_REGION") from error
        self.database = database

    def has_database(self) -> bool:
        """Whether the database is there."""
        with self._translated_errors():
            try:
                self._client.get_database(Name=self.database)
            except self._client.exceptions.EntityNotFoundException:
                return False
        return True

    def create_database(self, lake: str) -> None:
        """Make the database."""
        described = {"Name": self.database, "Description": f"lake {lake}", "Parameters": {OWNER: lake}}
        with self._translated_errors():
            self._client.create_database(DatabaseInput=described)

    def tables(self) -> dict[str, Mapping[str, Any]]:
        """Every table of the database by name, as Glue gives it."""
        return {table["Name"]: table for table in self._pages("get_tables", "TableList")}

    def create_table(self, described: Mapping[str, Any]) -> None:
        """Make a table of this ``TableInput``."""
        with self._translated_errors():
            self._client.create_table(DatabaseName=self.database, TableInput=described)

    def update_table(self, described: Mapping[str, Any]) -> None:
        """Update it, in the version that is there: a version for every commit would fill the catalog's quota."""
        with self._translated_errors():
            self._client.update_table(DatabaseName=self.database, TableInput=described, SkipArchive=True)

    def drop_table(self, name: str) -> None:
        """Take a table out of the catalog with its partitions; its files stay."""
        with self._translated_errors():
            self._client.delete_table(DatabaseName=self.database, Name=name)

    def partitions(self, table: str) -> dict[str, Mapping[str, Any]]:
        """The partitions of a table by their value, as Glue gives them."""
        return {each["Values"][0]: each for each in self._pages("get_partitions", "Partitions", TableName=table)}

    def add_partitions(self, table: str, described: Sequence[Mapping[str, Any]]) -> None:
        """Add partitions; those that are there already are left."""
        for some in _slices(described, _MOST_CREATED):
            self._batch("batch_create_partition", table, PartitionInputList=some)

    def update_partitions(self, table: str, described: Sequence[Mapping[str, Any]]) -> None:
        """Update partitions."""
        entries = [{"PartitionValueList": each["Values"], "PartitionInput": each} for each in described]
        for some in _slices(entries, _MOST_UPDATED):
            self._batch("batch_update_partition", table, Entries=some)

    def drop_partitions(self, table: str, values: Iterable[str]) -> None:
        """Take partitions out of the catalog; their files stay."""
        for some in _slices(list(values), _MOST_DELETED):
            self._batch("batch_delete_partition", table, PartitionsToDelete=[{"Values": [value]} for value in some])

    def _pages(self, call: str, key: str, **given: Any) -> Iterator[Mapping[str, Any]]:
        with self._translated_errors():
            for page in self._client.get_paginator(call).paginate(DatabaseName=self.database, **given):
                yield from page[key]

    def _batch(self, call: str, table: str, **given: Any) -> None:
        with self._translated_errors():
            answer = getattr(self._client, call)(DatabaseName=self.database, TableName=table, **given)
        details = [each.get("ErrorDetail") or {} for each in answer.get("Errors") or []]
        wrong = [each for each in details if each.get("ErrorCode") not in _DONE_ALREADY]
        if wrong:
            first = f"{wrong[0].get('ErrorCode')}: {wrong[0].get('ErrorMessage')}"
            raise TransientError(
                f"{table}: Glue refused {len(wrong)} of its partitions ({first}); run sync apply again"
            )

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        try:
            yield
        except NoCredentialsError as error:
            raise SettingsError(f"AWS Glue cannot be called ({error}); give the job a role or credentials") from error
        except ClientError as error:
            details = error.response.get("Error", {})
            message = f"Glue database {self.database}: {details.get('Code')}: {details.get('Message')}"
            if details.get("Code") in _PASSING:
                raise TransientError(f"{message}; run sync apply again") from error
            raise SettingsError(f"{message}; correct the role's rights or the database's name") from error
        except BotoCoreError as error:
            raise TransientError(f"AWS Glue does not answer ({error}); run sync apply again") from error


def _slices(entries: Sequence[Any], most: int) -> Iterator[list[Any]]:
    return (list(entries[at : at + most]) for at in range(0, len(entries), most))
