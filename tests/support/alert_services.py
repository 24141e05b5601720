"""A service that alerts are sent to: it keeps what it receives, or refuses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class AlertService:
    """``received`` is every message with its title, in the order in which they came."""

    port: int
    received: list[tuple[str, str]] = field(default_factory=list)
    is_refusing: bool = False

    @property
    def connection(self) -> str:
        """The Airflow connection that leads here, as JSON for a variable of the environment."""
        return json.dumps({"conn_type": "apprise", "extra": json.loads(self.extra)})

    @property
    def extra(self) -> str:
        """The extra of that connection."""
        return json.dumps({"config": [{"path": f"json://127.0.0.1:{self.port}/alerts"}]})


@contextmanager
def running_alert_service() -> Iterator[AlertService]:
    """One on a free port, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(503 if service.is_refusing else 200)
            self.end_headers()
            if not service.is_refusing:
                service.received.append((alert["title"], alert["message"]))

        def log_message(self, *_words: object) -> None:
            """Nothing on the test's output."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service = AlertService(port=server.server_port)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield service
        server.shutdown()


class KeptVariables:
    """Airflow's variables as tasks see them: outside of a task are none (tests/e2e/test_alerts.py has real ones)."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def get(self, key: str, default: Any = None, *, deserialize_json: bool = False) -> Any:
        text = self.kept.get(key)
        return default if text is None else json.loads(text) if deserialize_json else text

    def set(self, key: str, value: Any, *, serialize_json: bool = False) -> None:
        self.kept[key] = json.dumps(value) if serialize_json else value

    def delete(self, key: str) -> None:
        del self.kept[key]
