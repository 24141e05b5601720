"""What a Hive metastore refuses, over its own Thrift interface; test_hive_sync.py has a real one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore.ttypes import MetaException, NoSuchObjectException
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.storage.catalog.metastore import Metastore


class Refusing:
    """Answers each attempt to drop a table with one of Hive's own errors."""

    def __init__(self, error: Exception) -> None:
        self.error, self.calls = error, list[tuple[str, str, bool]]()

    def drop_table(self, database: str, name: str, deletes_files: bool) -> None:
        self.calls.append((database, name, deletes_files))
        raise self.error


@contextmanager
def answering_once(handler: Refusing) -> Iterator[str]:
    """A metastore for one question; gives its URI."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            taken = TSocket()
            taken.setHandle(listening.accept()[0])
            protocol = TBinaryProtocol(TBufferedTransport(taken))
            ThriftHiveMetastore.Processor(handler).process(protocol, protocol)
            taken.close()

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield f"thrift://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_an_entry_that_was_dropped_meanwhile_is_no_error_and_files_are_kept():
    handler = Refusing(NoSuchObjectException("sales.old table not found"))
    with answering_once(handler) as uri:
        Metastore(uri, "sales").drop_table("old")
    assert handler.calls == [("sales", "old", False)]


def test_what_it_refuses_is_a_right_to_correct():
    with answering_once(Refusing(MetaException("user me may not drop old"))) as uri:
        with pytest.raises(SettingsError) as caught:
            Metastore(uri, "sales").drop_table("old")
        assert str(caught.value).startswith(f"the Hive metastore at {uri} refuses: ")
    assert "user me may not drop old" in str(caught.value)
    assert str(caught.value).endswith("; correct its rights")


def test_one_that_does_not_answer_may_be_tried_again():
    with socket.socket() as held:  # bound and not listening
        held.bind(("127.0.0.1", 0))
        uri = f"thrift://127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(TransientError, match=f"^no Hive metastore answers at {uri} .*; run sync again$"):
            Metastore(uri, "sales").tables()
