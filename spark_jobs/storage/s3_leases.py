"""Leases as objects beside the tables, written on a condition: for a lake on S3, with writers on several machines.

The object says who holds it. Its holder rewrites it every few seconds, always on the condition that it is as he left
it (``If-Match``), so a second holder cannot come unseen. Who waits takes it over when it has not changed for
``EXPIRES_SECONDS`` of his own clock; no two machines' clocks are compared. A holder that was paused for so long counts
its lease as lost, and finds out before its next commit (:func:`spark_jobs.storage.lease.check_lease`).

A write on a condition can succeed and its answer get lost; the next one is refused then, by what the process wrote
itself. So after a refusal the object is read: with the token of this process in it, it is still this one's. No two
writes have the same content, so no two have the same tag: a request that arrives late never finds its condition met.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.contracts.errors import LakehouseError, SettingsError, TableBusyError, TransientError
from spark_jobs.storage.s3 import split_uri

EXPIRES_SECONDS = 60.0
"""Longer than heartbeats count: who takes over finds what the other began, and rolls it back."""
RENEW_SECONDS = 10.0
_POLL_SECONDS = 1.0
_TRIES = 3
"""Of a write that is refused for what this process wrote itself."""
_CONFLICTS = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"})
"""What the store answers when the object is not, or no longer, what the condition says."""

log = logging.getLogger(__name__)


def now() -> float:
    """Seconds of a clock that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def open_client() -> Any:
    """A client of S3, with region, endpoint and credentials from where every AWS client takes them."""
    import boto3
    from botocore.config import Config

    # A renewal that hangs must be over long before the lease expires.
    waits = {"connect_timeout": 5, "read_timeout": 10, "retries": {"mode": "standard", "max_attempts": 3}}
    return boto3.client("s3", config=Config(**waits))


@contextmanager
def hold_object(client: Any, base_path: str, *, table: str, who: str, wait: int) -> Iterator[Callable[[], bool]]:
    """Hold the lease of one table while the block runs; gives what says whether it is still held.

    Raises:
        TableBusyError: another process still holds it after ``wait`` seconds.
        SettingsError: the object may not be read or written.
        TransientError: the store does not answer.
    """
    bucket, key = split_uri(base_path)
    lease = Lease(client=client, bucket=bucket, key=f"{key}/.leases/{table}.lease".lstrip("/"), who=who)
    _wait_for(lease, table=table, wait=wait)
    is_done = threading.Event()
    renewing = threading.Thread(target=lease.keep, args=(is_done,), name=f"lease-{table}", daemon=True)
    renewing.start()
    try:
        yield lease.is_held
    finally:
        is_done.set()
        renewing.join()
        lease.release()


def _wait_for(lease: Lease, *, table: str, wait: int) -> None:
    """Take it, however often it has to be requested; a store that fails is given a minute of the time."""
    begun = now()
    while True:
        try:
            holder = lease.take()
        except TransientError:
            if now() - begun >= min(wait, EXPIRES_SECONDS):
                lease.release()  # it may be ours: the answer is all that we know to be lost
                raise
        else:
            if not holder:
                return
            if now() - begun >= wait:
                raise TableBusyError(table=table, holder=holder, waited_seconds=wait)
        time.sleep(_POLL_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The object as it is: ``holder`` and ``token`` are empty when the lease was let go."""

    tag: str
    content: str
    holder: str
    token: str


@dataclass(kw_only=True)
class Lease:
    """One object, from one process's point of view."""

    client: Any
    bucket: str
    key: str
    who: str
    _token: str = field(default_factory=lambda: uuid.uuid4().hex)
    _tag: str = ""
    """Of the object as this process wrote it last; nothing while the lease is not held."""
    _written: float = 0.0
    _seen: tuple[str, float] = ("", 0.0)
    """Tag of another holder's object, and since when it was seen unchanged."""

    def take(self) -> str:
        """Try to take the lease; gives nothing when it is ours now, else who holds it."""
        found = self._read()
        if found is None:
            return self._write("", condition={"IfNoneMatch": "*"})
        is_free = not found.holder or found.token == self._token  # ours: written before, and the answer was lost
        if not is_free and found.tag != self._seen[0]:
            self._seen = (found.tag, now())
        if is_free or now() - self._seen[1] >= EXPIRES_SECONDS:
            return self._write(found.holder, condition={"IfMatch": found.tag})
        return found.holder

    def keep(self, is_done: threading.Event) -> None:
        """Renew the lease until ``is_done`` or until it is lost."""
        while not is_done.wait(RENEW_SECONDS):
            try:
                holder = self._write("another process", condition={"IfMatch": self._tag})
            except LakehouseError as error:  # the network may be back before the lease expires
                log.warning("%s", error)
                continue
            if holder:
                self._tag = ""
                return

    def is_held(self) -> bool:
        """Whether no one else can have it: not lost, and renewed lately."""
        return bool(self._tag) and now() - self._written < EXPIRES_SECONDS - RENEW_SECONDS

    def release(self) -> None:
        """Let it go; when it was lost there is nothing to let go."""
        tag, self._tag = self._tag, ""
        try:
            if tag := tag or self._tag_of_ours():
                self._put(json.dumps({"released": uuid.uuid4().hex}), {"IfMatch": tag})
        except LakehouseError as error:
            log.warning("%s; it ends in %.0f s", error, EXPIRES_SECONDS)

    def _write(self, holder: str, *, condition: dict[str, str]) -> str:
        """Write our name; gives nothing when it was, else who was quicker."""
        begun = now()
        content = json.dumps({"holder": self.who, "token": self._token, "renewed": uuid.uuid4().hex})
        tag = self._put(content, condition)
        if not tag:
            return holder or "another process, which was quicker"
        self._tag, self._written = tag, begun
        return ""

    def _put(self, content: str, condition: dict[str, str]) -> str:
        """Tag of the object once it has this content; nothing when the condition does not hold.

        A write of this process whose answer was lost changed the object too: it does not keep the next one out.
        """
        for _ in range(_TRIES):
            if tag := self._put_once(content, condition):
                return tag
            found = self._read()
            if found is None or (found.content != content and found.token != self._token):
                return ""
            if found.content == content:
                return found.tag
            condition = {"IfMatch": found.tag}
        raise TransientError(f"{self._name} is ours and was refused {_TRIES} times; run again later")

    def _put_once(self, content: str, condition: dict[str, str]) -> str:
        with self._translated_errors():
            try:
                answer = self.client.put_object(Bucket=self.bucket, Key=self.key, Body=content.encode(), **condition)
            except self.client.exceptions.ClientError as error:
                if error.response["Error"]["Code"] not in _CONFLICTS:
                    raise
                return ""
        return str(answer.get("ETag", ""))  # an answer that was cut off has none

    def _tag_of_ours(self) -> str:
        found = self._read()
        return found.tag if found and found.token == self._token else ""

    def _read(self) -> _Found | None:
        """The object; None when there is none. One that cannot be understood has an unknown holder."""
        with self._translated_errors():
            try:
                answer = self.client.get_object(Bucket=self.bucket, Key=self.key)
            except self.client.exceptions.NoSuchKey:
                return None
            tag, content = str(answer.get("ETag", "")), answer["Body"].read().decode("utf-8", "replace")
        if not tag:
            raise TransientError(f"{self._name} came without a tag; run again later")
        try:
            fields = json.loads(content)
            holder, token = str(fields.get("holder", "")), str(fields.get("token", ""))
        except (ValueError, AttributeError):
            holder, token = "unknown", ""
        return _Found(tag=tag, content=content, holder=holder, token=token)

    @property
    def _name(self) -> str:
        return f"the lease s3://{self.bucket}/{self.key}"

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
        from urllib3.exceptions import HTTPError  # of an error's body that breaks off; botocore does not translate it

        name = self._name
        try:
            yield
        except NoCredentialsError as error:
            raise SettingsError(f"{name} cannot be requested ({error}); give the job a role or credentials") from error
        except ClientError as error:
            details = error.response["Error"]
            message = f"{name}: {details.get('Code')}: {details.get('Message')}"
            if error.response["ResponseMetadata"].get("HTTPStatusCode", 0) >= 500:
                raise TransientError(f"{message}; run again later") from error
            raise SettingsError(f"{message}; a writer needs s3:GetObject and s3:PutObject there") from error
        except (BotoCoreError, HTTPError) as error:
            raise TransientError(f"{name} cannot be requested ({error}); run again later") from error
