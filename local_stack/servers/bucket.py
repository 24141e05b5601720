"""Make a bucket on the S3 server that the environment names, unless it is there."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_stack.console import say
from local_stack.errors import SetupError
from spark_jobs.storage.s3 import endpoint_of, region_of

OURS_ALREADY = "BucketAlreadyOwnedByYou"
DEFAULT_REGION = "us-east-1"
"""The one region that a new bucket must not name."""


def run(argv: list[str]) -> int:
    """Make the bucket; 0 when it is there."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack bucket", description=__doc__)
    parser.add_argument("name", metavar="NAME", help="of the bucket")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="who may do what with it, as AWS writes policies")
    options = parser.parse_args(argv)
    make_bucket(options.name)
    if options.policy:
        set_policy(options.name, options.policy)
    return 0


def make_bucket(name: str, environ: Mapping[str, str] = os.environ) -> None:
    """Make an empty bucket there; one that is there already stays as it is. SetupError when the server refuses."""
    from botocore.exceptions import BotoCoreError, ClientError

    region = region_of(environ) or DEFAULT_REGION
    place = {} if region == DEFAULT_REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        client = open_s3(environ)
        client.create_bucket(Bucket=name, **place)
    except (BotoCoreError, ClientError) as error:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
        if code != OURS_ALREADY:
            raise SetupError(f"bucket {name!r} cannot be made: {error}") from error
        say(f"bucket: {name} is there")
        return
    say(f"bucket: made {name}")


def set_policy(name: str, file: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Put a policy on the bucket, in place of the one it has. SetupError when it cannot be read, or is refused."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        open_s3(environ).put_bucket_policy(Bucket=name, Policy=file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, BotoCoreError, ClientError) as error:
        raise SetupError(f"bucket {name!r} cannot be given the policy in {file}: {error}; correct the file") from error
    say(f"bucket: {name} has the policy in {file}")


def open_s3(environ: Mapping[str, str]) -> Any:
    """A client with the endpoint and the keys of these variables, which need not be this process's."""
    return open_session(environ).client("s3", endpoint_url=endpoint_of(environ) or None)


def storage_options(environ: Mapping[str, str]) -> dict[str, str]:
    """What these variables say of S3, for a client that knows no file of keys and one endpoint for all of AWS."""
    found = open_session(environ).get_credentials()
    keys = found.get_frozen_credentials() if found else None
    options = {
        "aws_access_key_id": keys.access_key if keys else None,
        "aws_secret_access_key": keys.secret_key if keys else None,
        "aws_session_token": keys.token if keys else None,
        "aws_region": region_of(environ) or DEFAULT_REGION,
        "aws_endpoint_url": endpoint_of(environ),
        "allow_http": "true" if endpoint_of(environ).startswith("http://") else None,
    }
    return {name: value for name, value in options.items() if value}


def open_session(environ: Mapping[str, str]) -> Any:
    """AWS by these variables: region and keys, those of a file that they name too."""
    import boto3
    from botocore.session import Session

    # Without any key here, boto3's own chain, but with the file of keys that is named here.
    session = Session()
    if file := environ.get("AWS_SHARED_CREDENTIALS_FILE"):
        session.set_config_variable("credentials_file", file)
    return boto3.Session(
        aws_access_key_id=environ.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=environ.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=environ.get("AWS_SESSION_TOKEN"),
        region_name=region_of(environ) or DEFAULT_REGION,
        botocore_session=session,
    )
