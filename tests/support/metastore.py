"""A real Hive metastore of the tests' own, and its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local_stack.servers.metastore import start_metastore, wait_for_metastore
from local_stack.servers.services import RunFolder
from spark_jobs.storage.catalog.metastore import Metastore


@contextmanager
def running_metastore(folder: Path) -> Iterator[str]:
    """Start it with its database in ``folder``; gives its URI, and ends it by its process id."""
    started = RunFolder(folder)
    with started.stopping():
        yield wait_for_metastore(start_metastore(started))


@contextmanager
def metastore_client(uri: str, database: str = "sales") -> Iterator[Any]:
    """Its own client, for what tests do behind the lake's back."""
    with Metastore(uri, database).client() as client:
        yield client


def entry(uri: str, name: str, database: str = "sales") -> Mapping[str, Any]:
    """Its entry of a table, in the shape of AWS Glue's."""
    with metastore_client(uri, database) as client:
        table = client.get_table(database, name)
    columns = [{"Name": each.name, "Type": each.type} for each in table.sd.cols]
    return {
        "Name": table.tableName,
        "TableType": table.tableType,
        "PartitionKeys": [{"Name": each.name, "Type": each.type} for each in table.partitionKeys],
        "Parameters": dict(table.parameters),
        "StorageDescriptor": {
            "Columns": columns,
            "Location": table.sd.location,
            "InputFormat": table.sd.inputFormat,
            "OutputFormat": table.sd.outputFormat,
            "SerdeInfo": {
                "SerializationLibrary": table.sd.serdeInfo.serializationLib,
                "Parameters": dict(table.sd.serdeInfo.parameters),
            },
        },
    }


def partitions(uri: str, name: str, database: str = "sales") -> set[str]:
    """The partitions of a table, as ``key=value``."""
    with metastore_client(uri, database) as client:
        return set(client.get_partition_names(database, name, -1))
