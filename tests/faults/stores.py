"""The object store of a process of the campaign: an S3 server behind the proxy, with a bucket for each part.

The proxy listens from the beginning, because sessions find the store by variables that are set before they start; the
server is started when it is first needed. The campaign itself prepares and copies lakes past the proxy.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from local_stack.servers.aws_server import REGION
from local_stack.servers.bucket import make_bucket, open_s3
from spark_jobs.storage import s3_leases
from spark_jobs.storage.commit_times import MOVED
from spark_jobs.storage.options import heartbeat_seconds
from spark_jobs.storage.s3 import split_uri
from tests.faults.store_faults import Switch, Weather
from tests.faults.store_proxy import StoreProxy
from tests.support.aws import running_s3

STOPPED, STORMY = "faults-stops", "faults-weather"
"""Buckets: clients give up soon in the first; in the second they try as often as in production, a little sooner."""
_COMMIT = re.compile(r"(?P<timeline>.*/\.hoodie/)(?P<instant>\d{17})\.(?:commit|deltacommit|replacecommit)")
_S3A = "spark.hadoop.fs.s3a"
_SOON = "50ms"
SESSION_OPTIONS: Mapping[str, str] = {
    **{f"{_S3A}.bucket.{STOPPED}.{name}": "1" for name in ("attempts.maximum", "retry.limit", "retry.throttle.limit")},
    **{
        f"{_S3A}.bucket.{bucket}.{name}": _SOON
        for bucket in (STOPPED, STORMY)
        for name in ("retry.interval", "retry.throttle.interval")
    },
}
"""Of a session that works on the store through the proxy."""
_LEASE_SECONDS = {"EXPIRES_SECONDS": 8.0, "RENEW_SECONDS": 1.5, "_POLL_SECONDS": 0.2}
"""Leases of a process of the campaign: they end later than heartbeats count, as in production."""
_OF_CLIENTS = {
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_ALLOW_HTTP": "true",
}


class Store:
    """What a process has of the store; :meth:`close` ends the server and the proxy."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self.switch = Switch()
        self.proxy = self._stack.enter_context(StoreProxy(self.switch))

    @property
    def variables(self) -> dict[str, str]:
        """By which clients find it, through the proxy."""
        return {**_OF_CLIENTS, "AWS_ENDPOINT_URL": f"http://{self.proxy.address}"}

    @cached_property
    def client(self) -> Any:
        """A client of the server itself; the first use starts it."""
        found = self._stack.enter_context(running_s3("moto", self._folder))
        for bucket in (STOPPED, STORMY):
            make_bucket(bucket, found)
        self.proxy.server = found["AWS_ENDPOINT_URL"].removeprefix("http://")
        return open_s3(found)

    def start(self) -> None:
        """Let the server run."""
        assert self.client

    def close(self) -> None:
        """End everything."""
        self._stack.close()

    def copy(self, source: str, target: str) -> None:
        """The objects below one URI below another one, the oldest first: file times are in the same order.

        Leases are of processes, not of lakes. Tables are marked as moved, as `doctor repair` does it: times of copies
        are no times of commits.
        """
        newest: dict[str, str] = {}
        bucket, prefix = split_uri(source)
        _, other = split_uri(target)
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        objects = [each for page in pages for each in page.get("Contents", ())]
        for each in sorted(objects, key=lambda each: (each["LastModified"], each["Key"])):
            below = each["Key"].removeprefix(prefix)
            if commit := _COMMIT.fullmatch(below):
                newest[commit["timeline"]] = max(newest.get(commit["timeline"], ""), commit["instant"])
            if not below.startswith("/.leases/"):
                self.client.copy_object(
                    Bucket=bucket, Key=f"{other}{below}", CopySource={"Bucket": bucket, "Key": each["Key"]}
                )

        for timeline, instant in newest.items():
            self.client.put_object(Bucket=bucket, Key=f"{other}{timeline}{MOVED}{instant}", Body=b"")

    @contextmanager
    def recording(self, base_path: str) -> Iterator[None]:
        """Record what the block changes below a lake's URI; :attr:`Switch.operations` says what it was."""
        self.switch.stop(_path(base_path))
        yield from self._disarmed()

    @contextmanager
    def stopping(self, base_path: str, operation: str, *, is_done: bool) -> Iterator[None]:
        """Take no more changes from this one on; ``is_done``: it is carried out and its answer lost."""
        self.switch.stop(_path(base_path), operation, is_done=is_done)
        yield from self._disarmed()

    @contextmanager
    def blowing(self, base_path: str, weather: Weather) -> Iterator[None]:
        """Let requests below a lake's URI fail."""
        self.switch.blow(_path(base_path), weather)
        yield from self._disarmed()

    def _disarmed(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.switch.disarm()


def let_leases_end_soon() -> None:
    """In this process."""
    for name, seconds in _LEASE_SECONDS.items():
        setattr(s3_leases, name, seconds)


def wait_until_old() -> None:
    """Times of objects cannot be set: wait until nothing abandoned counts as in use any more."""
    time.sleep(2 * heartbeat_seconds() + 1.0)


@contextmanager
def opening_store(folder: Path) -> Iterator[Store]:
    """A store, and the variables that point to it, for this process and those that it starts."""
    store = Store(folder)
    before = {name: os.environ.get(name) for name in store.variables}
    os.environ.update(store.variables)
    try:
        yield store
    finally:
        store.close()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _path(base_path: str) -> str:
    return "/" + "/".join(split_uri(base_path))
