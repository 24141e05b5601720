"""A machine that knows nothing of AWS: no region, no credentials, no role to get them from."""

from __future__ import annotations

import os

import boto3
import pytest


def forget_aws(patch: pytest.MonkeyPatch, **variables: str) -> None:
    """Until ``patch`` is undone AWS's clients find nothing but what ``variables`` say."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        patch.delenv(name)
    nothing = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    for name, value in {**nothing, "AWS_EC2_METADATA_DISABLED": "true", **variables}.items():
        patch.setenv(name, value)
    patch.setattr(boto3, "DEFAULT_SESSION", None)  # it keeps the credentials that it found once
