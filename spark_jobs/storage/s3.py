"""Object storage by the S3 protocol: where it is. Credentials are left to each client's own chain of providers."""

from __future__ import annotations

import os
from collections.abc import Mapping

SCHEMES = ("s3a://", "s3://")


def is_s3(path: str) -> bool:
    """True for a URI of an object store."""
    return path.startswith(SCHEMES)


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of ``s3a://bucket/key``."""
    bucket, _, key = uri.partition("://")[2].partition("/")
    return bucket, key.strip("/")


def endpoint_of(environ: Mapping[str, str] = os.environ) -> str:
    """The URL of a server that is not Amazon's, by the variables that every AWS client knows; else nothing."""
    return environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or ""


def region_of(environ: Mapping[str, str] = os.environ) -> str:
    """The region, by the variables that every AWS client knows; else nothing."""
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or ""
