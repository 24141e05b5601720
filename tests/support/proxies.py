"""A wire that can be cut: forwards connections to a server's socket until it has to lose one."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path

_BYTES = 1 << 20


class Wire:
    """Listens on a port of its own on this machine, and hands everything on in both directions.

    ``messages`` counts what clients sent since the last :meth:`cut_at`: by both servers' protocols a client sends, then
    waits. A busy machine hands long messages over in more or fewer pieces; those that hold a text can be counted alone.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._cut_at: int | None = None
        self._is_executed = False
        self._text = b""
        self.messages = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Wire:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def cut_at(self, message: int | None, *, is_executed: bool = False, text: bytes = b"") -> None:
        """Lose the connection at the n-th message from now: before the server gets it, or when it has executed it.

        Only messages that hold ``text``, in any case of letters, are counted. None: never again.
        """
        self._cut_at, self._is_executed, self._text, self.messages = message, is_executed, text.lower(), 0

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._target))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(OSError):
            while True:
                ready, _, _ = select.select([client, server], [], [])
                if server in ready and not _hand_on(server, client):
                    return
                if client in ready and not self._forward_request(client, server):
                    return

    def _forward_request(self, client: socket.socket, server: socket.socket) -> bool:
        question = client.recv(_BYTES)
        is_counted = self._text in question.lower()
        self.messages += is_counted
        if not is_counted or self.messages != self._cut_at:
            server.sendall(question)
            return bool(question)
        if self._is_executed:
            server.sendall(question)
            server.recv(_BYTES)  # the answer that the client will never get
        return False


def _hand_on(source: socket.socket, target: socket.socket) -> bool:
    data = source.recv(_BYTES)
    target.sendall(data)
    return bool(data)
