"""Messages of HTTP/1.1 on asyncio's streams: requests as they came, answers with their length."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

LIMIT = 1 << 20
"""Of a head, in bytes."""
_END = b"\r\n\r\n"
_KEY = re.compile(rb"<Key>([^<]*)</Key>")
_HOPS = frozenset({"connection", "expect", "keep-alive"})
"""Fields of one connection, and no part of a message that is handed on."""
_FRAMES = frozenset({*_HOPS, "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A head, its fields by name in small letters, and a body as it was sent."""

    first: str
    lines: tuple[str, ...]
    body: bytes = b""

    @property
    def headers(self) -> dict[str, str]:
        pairs = (line.partition(":") for line in self.lines)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    @property
    def keys(self) -> tuple[str, ...]:
        """What a removal of many objects names."""
        is_removal = self.first.startswith("POST ") and "?delete" in self.first
        return tuple(key.decode("utf-8", "replace") for key in _KEY.findall(self.body)) if is_removal else ()

    def to_request(self) -> bytes:
        """Its bytes for a connection that has no other."""
        kept = [line for line in self.lines if _name_of(line) not in _HOPS]
        return "\r\n".join((self.first, *kept, "Connection: close", "", "")).encode("latin-1") + self.body

    def to_answer(self, *, is_head: bool) -> bytes:
        """Its bytes for a connection that stays open; the body is not in pieces any more."""
        fields = self.headers
        length = fields.get("content-length", "0") if is_head else str(len(self.body))
        kept = [line for line in self.lines if _name_of(line) not in _FRAMES]
        status = self.first.partition(" ")[2]
        if not status.startswith(("204", "304")):
            kept.append(f"Content-Length: {length}")
        head = "\r\n".join((f"HTTP/1.1 {status}", *kept, "", "")).encode("latin-1")
        return head if is_head else head + self.body


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Message:
    """The next request, with its body; a client that waits for permission to send that gets it.

    Raises:
        EOFError, ConnectionError: there is no other one.
    """
    message = await _read_head(reader)
    fields = message.headers
    if fields.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    if "chunked" in fields.get("transfer-encoding", "").lower():
        body, _ = await _read_pieces(reader)
    else:
        body = await reader.readexactly(int(fields.get("content-length", 0)))
    return Message(first=message.first, lines=message.lines, body=body)


async def read_answer(reader: asyncio.StreamReader, *, is_head: bool) -> Message:
    """The answer to a request, as a whole."""
    message = await _read_head(reader)
    while message.first.split(" ")[1].startswith("1"):
        message = await _read_head(reader)
    fields, status = message.headers, message.first.split(" ")[1]
    if is_head or status in ("204", "304"):
        body = b""
    elif "chunked" in fields.get("transfer-encoding", "").lower():
        _, body = await _read_pieces(reader)
    elif "content-length" in fields:
        body = await reader.readexactly(int(fields["content-length"]))
    else:
        body = await reader.read()
    return Message(first=message.first, lines=message.lines, body=body)


def error_answer(status: str, code: str) -> Message:
    """An error as S3 says it."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return Message(first=f"HTTP/1.1 {status}", lines=("Content-Type: application/xml",), body=text.encode())


async def _read_head(reader: asyncio.StreamReader) -> Message:
    head = (await reader.readuntil(_END)).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    return Message(first=first, lines=tuple(lines))


async def _read_pieces(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """A body in pieces: as it was sent, and what it says."""
    raw, content = bytearray(), bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        raw += line
        size = int(line.partition(b";")[0], 16)
        if not size:
            break
        piece = await reader.readexactly(size + 2)
        raw += piece
        content += piece[:-2]
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":  # fields after the body
        raw += line
    return bytes(raw + line), bytes(content)


def _name_of(line: str) -> str:
    return line.partition(":")[0].strip().lower()
