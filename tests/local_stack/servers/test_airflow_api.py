"""The client gets every page: a server gives at most so many entries at a time, as Airflow's does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from local_stack.servers.airflow_api import AirflowApi

MOST = 100
"""Entries of a page, as Airflow's ``[api] maximum_page_limit`` has it."""


@contextmanager
def running_server(dag_ids: list[str]) -> Iterator[AirflowApi]:
    """A server that knows these DAGs, and a client that signs in there."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self, content: object) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer({"access_token": "a"})

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            begin, count = int(query.get("offset", ["0"])[0]), int(query.get("limit", ["50"])[0])
            page = dag_ids[begin : begin + min(count, MOST)]
            self.answer({"dags": [{"dag_id": dag_id} for dag_id in page], "total_entries": len(dag_ids)})

        def log_message(self, *_words: object) -> None:
            """Nothing on the test's output."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield AirflowApi(f"http://127.0.0.1:{server.server_port}", user="u", password="p")
        server.shutdown()


@pytest.mark.parametrize("count", [0, 1, 50, 51, 100, 101, 250])
def test_every_dag_of_many_lakes_is_known(count: int) -> None:
    ids = [f"lake{number}_ingest" for number in range(count)]
    with running_server(ids) as api:
        assert api.dag_ids() == set(ids)
