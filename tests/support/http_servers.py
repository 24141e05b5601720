"""Small HTTP servers on a free loopback port, for fakes of other companies' APIs."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from local_stack.servers.services import LOOPBACK

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""A WSGI application."""
_LOOK_SECONDS = 0.02
"""How often a server looks whether it is to end; by default that takes half a second."""


@contextmanager
def running_server(application: Application) -> Iterator[int]:
    """Serve until the block ends; gives the port."""
    from werkzeug.serving import make_server

    server = make_server(LOOPBACK, 0, application, threaded=True)
    thread = Thread(target=server.serve_forever, args=(_LOOK_SECONDS,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def body_of(environ: dict[str, Any]) -> bytes:
    """What a request to a WSGI application has sent, plain or by gzip."""
    body: bytes = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    return gzip.decompress(body) if environ.get("HTTP_CONTENT_ENCODING") == "gzip" else body
