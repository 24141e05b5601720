"""Versions of objects that a bucket keeps after these were replaced or deleted: an erasure has to remove them too."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from spark_jobs.storage.s3 import is_s3, split_uri

_AT_A_TIME = 1000
"""Objects that one request may delete."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldVersions:
    """Of what is below a path: versions that were there besides the newest, how many are left, and why, or ""."""

    path: str
    found: int
    left: int
    reason: str = ""


def remove_old_versions(client: Any, paths: Iterable[str]) -> list[OldVersions]:
    """Delete all but the newest version of every object below paths of S3, and the marks of deleted ones.

    Nothing that can be read is lost: what the newest state of the lake needs are newest versions. What may not be
    listed or deleted is left, with the reason; whoever may has to do it, or wait for the bucket's lifecycle rules.
    """
    return [_remove(client, path) for path in paths if is_s3(path)]


def _remove(client: Any, path: str) -> OldVersions:
    from botocore.exceptions import BotoCoreError, ClientError

    found = removed = 0
    try:
        for few in _batches(_old_versions(client, path)):
            found += len(few)
            bucket, _ = split_uri(path)
            answer = client.delete_objects(Bucket=bucket, Delete={"Objects": few, "Quiet": True})
            errors = answer.get("Errors") or []
            removed += len(few) - len(errors)
            if errors:
                return _left(client, path, removed, f"{errors[0].get('Code')}: {errors[0].get('Message')}")
    except (BotoCoreError, ClientError) as error:
        return _left(client, path, removed, str(error))
    log.info("%s: %d old versions of objects deleted", path, removed)
    return OldVersions(path=path, found=found, left=0)


def _left(client: Any, path: str, removed: int, reason: str) -> OldVersions:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        left = sum(1 for _ in _old_versions(client, path))
    except (BotoCoreError, ClientError):
        left = -1  # unknown
    return OldVersions(path=path, found=removed + max(left, 0), left=left, reason=reason)


def _old_versions(client: Any, path: str) -> Iterator[dict[str, str]]:
    bucket, key = split_uri(path)
    pages = client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=f"{key}/" if key else "")
    for page in pages:
        for version in page.get("Versions") or []:
            if not version["IsLatest"]:
                yield {"Key": version["Key"], "VersionId": version["VersionId"]}
        for mark in page.get("DeleteMarkers") or []:
            yield {"Key": mark["Key"], "VersionId": mark["VersionId"]}


def _batches(versions: Iterator[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    while few := list(islice(versions, _AT_A_TIME)):
        yield few
