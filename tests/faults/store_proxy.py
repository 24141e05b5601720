"""A proxy before an S3 server that does to requests what its switch decides (store_faults.py); plain asyncio.

It listens on a free loopback port in a thread of its own, so that whoever is at work in the process can arm it. Before
a server is named, and whenever it is gone, requests are answered with 503. Messages are handed on whole and unchanged
but for the fields of a connection: signatures stay valid.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from local_stack.servers.services import LOOPBACK
from tests.faults.http_streams import LIMIT, Message, error_answer, read_answer, read_request
from tests.faults.store_faults import Decision, Fault, Request, Switch

_ERROR = error_answer("500 Internal Server Error", "InternalError")
_SLOW_DOWN = error_answer("503 Slow Down", "SlowDown")
_REFUSALS = {Fault.ERROR: _ERROR, Fault.SLOW_DOWN: _SLOW_DOWN}
_NO_LINGER = struct.pack("ii", 1, 0)
"""A socket that is closed so resets its connection."""


class _GivenUpError(Exception):
    """The connection ends without an answer; ``sent`` is the part that was sent."""

    def __init__(self, sent: bytes = b"") -> None:
        self.sent = sent
        super().__init__()


class StoreProxy:
    """Runs from :meth:`start` to :meth:`stop`, or for the block of a ``with``."""

    def __init__(self, switch: Switch, *, server: str = "") -> None:
        self.switch = switch
        self.server = server
        """``host:port`` of the store."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="store-proxy", daemon=True)
        self._listening: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> StoreProxy:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._listening = self._run(asyncio.start_server(self._accept, LOOPBACK, 0, limit=LIMIT))

    def stop(self) -> None:
        """End every connection, and what was still to come late."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def address(self) -> str:
        """``host:port``."""
        assert self._listening is not None
        return f"{LOOPBACK}:{self._listening.sockets[0].getsockname()[1]}"

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _end(self) -> None:
        assert self._listening is not None
        self._listening.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: Any = asyncio.current_task()
        self._keep(task)
        try:
            while True:
                await self._serve(await read_request(reader, writer), reader, writer)
        except _GivenUpError as ended:
            await _break_off(writer, ended.sent)
        except (EOFError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.close()  # whatever it was: a client would wait

    async def _serve(self, message: Message, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, _ = message.first.split(" ", 2)
        request = Request(method=method, target=target, headers=message.headers, keys=message.keys)
        decision = self.switch.decide(request)
        answer = await self._answer(message, decision, reader, is_head=method == "HEAD")
        content = answer.to_answer(is_head=method == "HEAD")
        if decision.fault is Fault.TRUNCATED:
            # Within the body; of an answer that has none within its first line, which no client takes for an answer.
            begun = len(content) - len(answer.body) // 2 if answer.body and method != "HEAD" else 8
            raise _GivenUpError(content[: min(begun, len(content) - 1)])
        writer.write(content)
        await writer.drain()

    async def _answer(
        self, message: Message, decision: Decision, reader: asyncio.StreamReader, *, is_head: bool
    ) -> Message:
        fault = decision.fault
        if fault in _REFUSALS:
            return _REFUSALS[fault]
        if fault is Fault.RESET:
            raise _GivenUpError
        if fault is Fault.DELAYED:
            await asyncio.sleep(decision.seconds)
            if reader.at_eof():
                raise _GivenUpError
        answer = await self._forward(message, is_head=is_head)
        if fault is Fault.REPEATED:
            answer = await self._forward(message, is_head=is_head)
        if fault is Fault.LATE:
            self._keep(asyncio.create_task(self._forward_late(message, decision.seconds)))
        if fault in (Fault.LOST, Fault.LATE):
            raise _GivenUpError
        return _ERROR if fault is Fault.ERROR_AFTER else answer

    async def _forward_late(self, message: Message, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._forward(message, is_head=False)

    async def _forward(self, message: Message, *, is_head: bool) -> Message:
        """The store's own answer, on a connection of its own."""
        host, _, port = self.server.partition(":")
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await asyncio.open_connection(host, int(port or 0), limit=LIMIT)
            writer.write(message.to_request())
            return await read_answer(reader, is_head=is_head)
        except (OSError, EOFError):
            return _SLOW_DOWN
        finally:
            if writer:
                writer.close()


async def _break_off(writer: asyncio.StreamWriter, sent: bytes) -> None:
    """End a connection: after a part of the answer as one that is closed, else as one that is reset."""
    if sent:
        with suppress(ConnectionError):
            writer.write(sent)
            await writer.drain()
        writer.close()
        return
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    writer.transport.abort()
