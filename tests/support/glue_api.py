"""Glue's and Athena's API on a port of its own (moto's server), which records its calls and can refuse them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from local_stack.servers.services import LOOPBACK
from tests.support.http_servers import running_server

_WRITES = ("Create", "Update", "Delete", "BatchCreate", "BatchUpdate", "BatchDelete")


@dataclass
class GlueApi:
    """One server; ``calls`` are those since the last :meth:`forget`, each with its name and parameters.

    ``refuse`` gets the name of each call beforehand, and may return an error code to answer with. ``answer`` gets name
    and parameters, and may return a response that moto cannot give.
    """

    url: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and query of all other requests: S3's API."""
    refuse: Callable[[str], str] = lambda _: ""
    answer: Callable[[str, dict[str, Any]], dict[str, Any] | None] = lambda *_: None

    @property
    def environment(self) -> dict[str, str]:
        """Where an AWS client finds it, and credentials that mean nothing."""
        return {
            "AWS_ENDPOINT_URL_GLUE": self.url,
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
        }

    @property
    def writes(self) -> list[str]:
        """Names of the calls that change something."""
        return [name for name, _ in self.calls if name.startswith(_WRITES)]

    def forget(self) -> None:
        """Forget the calls so far."""
        self.calls.clear()
        self.requests.clear()


@contextmanager
def running_glue() -> Iterator[GlueApi]:
    """An empty catalog, until the block ends."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    api, inner = GlueApi(), DomainDispatcherApplication(create_backend_app)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if target := environ.get("HTTP_X_AMZ_TARGET", ""):
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = BytesIO(body)
            name = target.rpartition(".")[2]
            if code := api.refuse(name):
                start_response("400 Bad Request", [("Content-Type", "application/x-amz-json-1.1")])
                return [json.dumps({"__type": code, "message": "as the test says"}).encode()]
            given = json.loads(body)
            api.calls.append((name, given))
            if (response := api.answer(name, given)) is not None:
                start_response("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
                return [json.dumps(response).encode()]
        else:
            api.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", "")))
        answer: Iterable[bytes] = inner(environ, start_response)
        return answer

    with running_server(application) as port:
        api.url = f"http://{LOOPBACK}:{port}"
        yield api
