"""A real Hive metastore, from the jars that come with PySpark, over a Derby database of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local_stack.services import LOOPBACK, free_port
from spark_jobs.storage.catalog.metastore import Metastore
from tests.support.spark_jars import running_spark_jar

_SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.async.log.enabled": "false",  # its library is not among Spark's
}


@contextmanager
def running_metastore(folder: Path) -> Iterator[str]:
    """Start it with its database in ``folder``; gives its URI, and ends it by its process id."""
    port = free_port()
    settings = {
        **_SETTINGS,
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/database;create=true",
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
    }
    java_options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", f"-Dderby.stream.error.file={folder}/derby.log"]
    command = [
        *("org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)),
        *(part for name, value in settings.items() for part in ("--hiveconf", f"{name}={value}")),
    ]
    with running_spark_jar(folder, java_options, command, port=port):
        yield f"thrift://{LOOPBACK}:{port}"


@contextmanager
def asking(uri: str, database: str = "sales") -> Iterator[Any]:
    """Its own client, for what tests do behind the lake's back."""
    with Metastore(uri, database).asking() as client:
        yield client


def entry(uri: str, name: str, database: str = "sales") -> Mapping[str, Any]:
    """What it says of a table, in the shape in which AWS Glue says it."""
    with asking(uri, database) as client:
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
    with asking(uri, database) as client:
        return set(client.get_partition_names(database, name, -1))
