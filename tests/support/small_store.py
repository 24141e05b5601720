"""An object store of a few lines in this process, for what is between it and its clients: objects, tags, conditions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any


class SmallStore:
    """A WSGI application: puts (on conditions too), gets, removals, and a list of the keys that begin like a path."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.changes: list[str] = []
        """What changed something, in its order."""
        self._lock = Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        sent = environ["wsgi.input"]
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = sent.read() if environ.get("wsgi.input_terminated") else sent.read(length)
        with self._lock:
            status, fields, content = self._answer(environ, environ["PATH_INFO"], body)
        start(status, [("Content-Length", str(len(content))), *fields.items()])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [content]

    def _answer(self, environ: dict[str, Any], key: str, body: bytes) -> tuple[str, dict[str, str], bytes]:
        method, there = environ["REQUEST_METHOD"], self.objects.get(key)
        tag = _tag(there) if there is not None else ""
        if method == "PUT":
            wanted, unwanted = environ.get("HTTP_IF_MATCH"), environ.get("HTTP_IF_NONE_MATCH")
            if (wanted is not None and wanted != tag) or (unwanted and tag):
                return "412 Precondition Failed", {}, _error("PreconditionFailed")
            self.objects[key] = body
            self.changes.append(f"PUT {key}")
            return "200 OK", {"ETag": _tag(body)}, b""
        if method == "DELETE":
            self.objects.pop(key, None)
            self.changes.append(f"DELETE {key}")
            return "204 No Content", {}, b""
        if "list-type" in environ.get("QUERY_STRING", ""):
            return "200 OK", {}, "\n".join(sorted(each for each in self.objects if each.startswith(key))).encode()
        if there is None:
            return "404 Not Found", {}, _error("NoSuchKey")
        return "200 OK", {"ETag": tag}, there


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
