"""Leases as objects beside the tables, written on a condition: for a lake on S3, with writers on several machines.

The object says who holds it. Its holder writes it anew every few seconds, always on the condition that it is as he left
it (``If-Match``), so a second holder cannot come unseen. Who waits takes it over when it has not changed for
``EXPIRES_SECONDS`` of his own clock; no two machines' clocks are compared. A holder that was paused for so long counts
its lease as lost, and finds out before its next commit (:func:`spark_jobs.storage.lease.check_lease`).
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
    begun = now()
    while holder := lease.take():
        if now() - begun >= wait:
            raise TableBusyError(table=table, holder=holder, waited_seconds=wait)
        time.sleep(_POLL_SECONDS)
    is_done = threading.Event()
    renewing = threading.Thread(target=lease.keep, args=(is_done,), name=f"lease-{table}", daemon=True)
    renewing.start()
    try:
        yield lease.is_held
    finally:
        is_done.set()
        renewing.join()
        lease.release()


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
        tag, holder = found
        if holder and tag != self._seen[0]:
            self._seen = (tag, now())
        if not holder or now() - self._seen[1] >= EXPIRES_SECONDS:
            return self._write(holder, condition={"IfMatch": tag})
        return holder

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
        """Whether nobody else can have it: not lost, and renewed lately."""
        return bool(self._tag) and now() - self._written < EXPIRES_SECONDS - RENEW_SECONDS

    def release(self) -> None:
        """Let it go; when it was lost there is nothing to let go."""
        if self._tag:
            try:
                self._put(json.dumps({}), {"IfMatch": self._tag})
            except LakehouseError as error:
                log.warning("%s; it ends in %.0f s", error, EXPIRES_SECONDS)

    def _write(self, holder: str, *, condition: dict[str, str]) -> str:
        """Write our name; gives nothing when it was, else who was quicker."""
        begun = now()
        content = json.dumps({"holder": self.who, "token": self._token, "renewed": uuid.uuid4().hex})
        tag = self._put(content, condition)
        if tag is None:
            return holder or "another process, which was quicker"
        self._tag, self._written = tag, begun
        return ""

    def _put(self, content: str, condition: dict[str, str]) -> str | None:
        """Tag of the object once it has this content; None when the condition does not hold."""
        with self._asking():
            try:
                answer = self.client.put_object(Bucket=self.bucket, Key=self.key, Body=content.encode(), **condition)
            except self.client.exceptions.ClientError as error:
                if error.response["Error"]["Code"] not in _CONFLICTS:
                    raise
                return self._tag_of(content)
        tag: str = answer["ETag"]
        return tag

    def _tag_of(self, content: str) -> str | None:
        """The object's tag if it has this very content: a write whose answer was lost is refused when tried again."""
        found = self._get()
        return found[0] if found and found[1] == content else None

    def _read(self) -> tuple[str, str] | None:
        """Tag of the object and its holder, "" when somebody let it go; None when there is none."""
        found = self._get()
        if found is None:
            return None
        try:
            return found[0], str(json.loads(found[1]).get("holder", ""))
        except (ValueError, AttributeError):
            return found[0], "unknown"

    def _get(self) -> tuple[str, str] | None:
        with self._asking():
            try:
                answer = self.client.get_object(Bucket=self.bucket, Key=self.key)
            except self.client.exceptions.NoSuchKey:
                return None
            return answer["ETag"], answer["Body"].read().decode("utf-8", "replace")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        name = f"the lease s3://{self.bucket}/{self.key}"
        try:
            yield
        except NoCredentialsError as error:
            raise SettingsError(f"{name} cannot be requested ({error}); give the job a role or credentials") from error
        except ClientError as error:
            said = error.response["Error"]
            told = f"{name}: {said.get('Code')}: {said.get('Message')}"
            if error.response["ResponseMetadata"].get("HTTPStatusCode", 0) >= 500:
                raise TransientError(f"{told}; run again later") from error
            raise SettingsError(f"{told}; a writer needs s3:GetObject and s3:PutObject there") from error
        except BotoCoreError as error:
            raise TransientError(f"{name} cannot be requested ({error}); run again later") from error
