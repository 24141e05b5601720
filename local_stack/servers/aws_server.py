"""The APIs of S3, Glue and Athena on this machine (moto), with everything in memory: gone when it stops."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, RunFolder, Service, wait_for_server

NAME = "aws"
REGION = "eu-west-1"
START_SECONDS = 60.0


def start_aws(folder: RunFolder, *, environ: Mapping[str, str] = os.environ) -> Service:
    """Start it; :func:`wait_for_aws` says when it answers."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "--host", LOOPBACK, "--port", str(port)]
    return folder.start(NAME, command, environment=environ, port=port)


def wait_for_aws(server: Service) -> dict[str, str]:
    """Wait until it answers; gives the variables by which every AWS client finds it. SetupError when it does not."""
    url = f"http://{wait_for_server(server, what='the AWS server', seconds=START_SECONDS)}"
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        # It lets everybody in; clients want to sign their requests with something all the same.
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ALLOW_HTTP": "true",
    }
