"""Reports a run beside it: never fails it, and keeps it waiting for a few seconds at most.

One thread sends, in order; it ends with the process. While a run works it waits for nothing. When the run has ended the
process waits until everything is sent, but no longer than ``MOST_SECONDS``: what is not sent by then is lost, and a
line says so.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from threading import Event, Thread

from spark_jobs.context import AnyContext
from spark_jobs.contracts.secrets import find_secrets, hide
from spark_jobs.reporting import openlineage, otlp
from spark_jobs.reporting.runs import RunEnd

MOST_SECONDS = 5.0
"""So long the process waits at the end of a run."""

log = logging.getLogger(__name__)
Send = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Sender:
    """A thread that carries out what it is given, in order; what one raises is a line in the log."""

    _queue: SimpleQueue[tuple[str, Send]] = field(default_factory=SimpleQueue)

    def start(self) -> None:
        """Begin; nothing is lost that was given before."""
        Thread(target=self._work, name="lakehouse-reports", daemon=True).start()

    def give(self, what: str, send: Send) -> None:
        """Take it on, and return at once."""
        self._queue.put((what, send))

    def is_done_within(self, seconds: float) -> bool:
        """True when everything that was given is carried out, False when that took longer."""
        done = Event()
        self.give("", done.set)
        return done.wait(seconds)

    def _work(self) -> None:
        while True:
            what, send = self._queue.get()
            try:
                send()
            except Exception as error:
                reason = hide(" ".join(f"{type(error).__name__}: {error}".split())[:300], find_secrets(os.environ))
                log.warning("%s not sent (%s); the run is not affected", what, reason, exc_info=True)


class RunReporter:
    """What one run reports; without a variable that names a receiver it does nothing, and starts no thread."""

    def __init__(self) -> None:
        self._sends_metrics, self._sends_lineage = otlp.is_configured(), openlineage.is_configured()
        self._sender = Sender()
        if self._sends_metrics or self._sends_lineage:
            self._sender.start()

    def begin(self, context: AnyContext, begun: datetime) -> None:
        """Send that a run with this lake began; returns at once."""
        if self._sends_lineage and openlineage.reports_lineage(context):
            self._sender.give("lineage", lambda: openlineage.send_start(context, begun))
            self._sender.give("lineage", lambda: openlineage.prepare_lineage(context))

    def end(self, run: RunEnd) -> None:
        """Send how the run ended, and wait a little for that."""
        if self._sends_lineage and openlineage.reports_lineage(run.context):
            self._sender.give("lineage", lambda: openlineage.send_end(run))
        if self._sends_metrics:
            self._sender.give("metrics", lambda: otlp.send_metrics(run, seconds=MOST_SECONDS))
        is_waiting = self._sends_metrics or self._sends_lineage
        if is_waiting and not self._sender.is_done_within(MOST_SECONDS):
            log.warning("reports of this run were not sent within %.0f s; the run is not affected", MOST_SECONDS)
