"""A store of this process that answers as S3 does: with tags, conditions, lost answers and requests that come twice."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError


class NoObjectError(ClientError):
    """Nothing has this key."""


@dataclass
class Store:
    """Objects with tags; ``slow`` is how long an answer takes, which counts for whoever waits for it."""

    clock: float = 1000.0
    slow: float = 0.0
    is_down: bool = False
    loses_answers: bool = False
    loses_for_good: bool = False
    """The answers to all tries of a client: it never hears that it wrote."""
    late: list[dict[str, Any]] = field(default_factory=list)
    """Writes that arrive a second time, when :meth:`deliver_late` says so."""
    meanwhile: Callable[[], None] | None = None
    """What others do between a write and its answer."""
    objects: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    exceptions: Any = field(default_factory=lambda: SimpleNamespace(ClientError=ClientError, NoSuchKey=NoObjectError))

    def put_object(self, **given: Any) -> Any:
        self._answer()
        self.late.append(given)
        key = (given["Bucket"], given["Key"])
        there = self.objects.get(key, ("", b""))[0]
        if ("IfMatch" in given and there != given["IfMatch"]) or ("IfNoneMatch" in given and there):
            self._refuse("PreconditionFailed" if there else "NoSuchKey", ClientError)
        tag = hashlib.md5(given["Body"]).hexdigest()  # as S3 has them: the same content has the same tag
        self.objects[key] = (tag, given["Body"])
        loses_answers, loses_for_good = self.loses_answers, self.loses_for_good
        if meanwhile := self.meanwhile:
            self.meanwhile = None
            meanwhile()
        self.clock += self.slow
        if loses_for_good:
            raise ReadTimeoutError(endpoint_url="http://store")
        if loses_answers:  # the client tries again by itself, and the condition holds no more
            self._refuse("PreconditionFailed", ClientError)
        return {"ETag": tag}

    def deliver_late(self, request: dict[str, Any]) -> None:
        """The same write once more, long after it was answered."""
        with suppress(ClientError):
            self.put_object(**request)

    def get_object(self, **given: Any) -> Any:
        self._answer()
        key = (given["Bucket"], given["Key"])
        if key not in self.objects:
            self._refuse("NoSuchKey", NoObjectError)
        tag, body = self.objects[key]
        return {"ETag": tag, "Body": io.BytesIO(body)}

    def _answer(self) -> None:
        if self.is_down:
            raise EndpointConnectionError(endpoint_url="http://store")

    def _refuse(self, code: str, kind: type[ClientError]) -> None:
        answer = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": 412}}
        raise kind(answer, "PutObject")
