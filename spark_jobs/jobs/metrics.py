"""metrics: the state of the lake for Prometheus, read from timelines; it answers until stopped, or looks once.

It listens on the loopback interface unless another address is given, and has no login: names of tables, consumers and
expectations, and numbers, are all that it shows.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.clocks import machine_now
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.job_options.metrics import MetricsOptions
from spark_jobs.overview.commit_counts import CommitCounts
from spark_jobs.overview.exposition import LakeCollector, make_registry
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lake_specs import read_lake_spec

log = logging.getLogger(__name__)


def run(context: JobContext[MetricsOptions]) -> JobResult:
    """Answer Prometheus until the process is stopped, or look once; needs no Spark, and changes nothing.

    Raises:
        SettingsError: the address cannot be listened on.
    """
    return _once(context) if context.options.once else _listen(context)


def _once(context: JobContext[MetricsOptions]) -> JobResult:
    from prometheus_client.exposition import generate_latest

    collector = LakeCollector(settings=context.settings, spec=lambda: context.spec, now=lambda: context.clock, log=log)
    content = generate_latest(make_registry(collector))
    if output := context.options.output:
        folder, name = os.path.split(output)
        Filesystem(folder or ".").write(name, content)
    else:
        print(content.decode(), end="")
    return context.result(DONE, counters={"metrics": content.count(b"# HELP ")})


def _listen(context: JobContext[MetricsOptions]) -> JobResult:
    from prometheus_client import start_http_server

    settings = context.settings
    collector = LakeCollector(
        settings=settings, spec=lambda: read_lake_spec(settings), now=machine_now, log=log, counts=CommitCounts()
    )
    host, port = context.options.address
    with _until_stopped() as stopped:
        try:
            server, thread = start_http_server(port, host, make_registry(collector))
        except OSError as error:
            reason = error.strerror or str(error)
            raise SettingsError(
                f"cannot listen on {context.options.listen} ({reason}); give another --listen"
            ) from error
        log.info("answering Prometheus at http://%s:%d/metrics", host, server.server_port)
        stopped.wait()
        server.shutdown()
        server.server_close()
        thread.join()
    return context.result(DONE)


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that is set when the process is to end, by whichever of the two usual signals."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


JOB = Job(options=MetricsOptions, run=run, needs_spark=never)
