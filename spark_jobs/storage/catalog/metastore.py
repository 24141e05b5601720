"""A Hive metastore, called by its Thrift interface: lists a database, drops an entry, sets a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from spark_jobs.contracts.errors import SettingsError, TransientError

_SECONDS = 30


class Metastore:
    """One database of the metastore at ``uri`` (``thrift://host:port``).

    Raises, from every call:
        TransientError: it does not answer.
        SettingsError: it refuses the call.
    """

    def __init__(self, uri: str, database: str) -> None:
        self.uri, self.database = uri, database

    def tables(self) -> dict[str, Mapping[str, Any]]:
        """Every table of the database by name: ``columns`` (name to type) and ``parameters``.

        None when there is no such database.
        """
        with self.client() as client:
            names = client.get_all_tables(self.database)
            found = client.get_table_objects_by_name(self.database, names) if names else []
            return {
                table.tableName: {
                    "columns": {column.name: column.type for column in table.sd.cols},
                    "parameters": dict(table.parameters),
                }
                for table in found
            }

    def set_parameter(self, name: str, key: str, value: str) -> None:
        """Set one parameter of a table; what else its entry says stays, and no statistics are recomputed."""
        from pymetastore.hive_metastore.ttypes import EnvironmentContext

        with self.client() as client:
            table = client.get_table(self.database, name)
            if table.parameters.get(key) != value:
                table.parameters[key] = value
                context = EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true"})
                client.alter_table_with_environment_context(self.database, name, table, context)

    def drop_table(self, name: str) -> None:
        """Take a table out of the metastore with its partitions; its files stay."""
        from pymetastore.hive_metastore.ttypes import NoSuchObjectException

        with self.client() as client:
            try:
                client.drop_table(self.database, name, False)
            except NoSuchObjectException:
                return  # another process was quicker

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Its client (Hive's own Thrift interface), until the block ends."""
        from pymetastore.hive_metastore import ThriftHiveMetastore
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.Thrift import TException
        from thrift.transport.TSocket import TSocket
        from thrift.transport.TTransport import TBufferedTransport, TTransportException

        address = urlsplit(self.uri)
        socket = TSocket(address.hostname, address.port)
        socket.setTimeout(_SECONDS * 1000)
        transport = TBufferedTransport(socket)
        try:
            transport.open()
            yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        except TTransportException as error:
            raise TransientError(f"no Hive metastore answers at {self.uri} ({error}); run sync again") from error
        except TException as error:
            raise SettingsError(f"the Hive metastore at {self.uri} refuses: {error}; correct its rights") from error
        finally:
            transport.close()
