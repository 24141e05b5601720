"""EMR Serverless and S3 as one HTTP server (moto), which records its calls and in whose name runs go on.

Its API is real, its job runs are not: moto starts nothing and calls each run done at once. What a run is to become is
set here, and :func:`play` runs what was submitted as a process, from the objects in S3, in an empty folder.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3

from local_stack.servers.services import LOOPBACK
from tests.support.http_servers import running_server

ACCOUNT, REGION = "123456789012", "eu-west-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/lakehouse-jobs"
BUCKET = "company-lake"
SUBMITTER = "Credential=submitter/"
_WORKER = {"AWS_ACCESS_KEY_ID": "worker", "AWS_SECRET_ACCESS_KEY": "nothing"}
_DRIVER_VARIABLE = "spark.emr-serverless.driverEnv."
_CALLS = {("POST", 3): "StartJobRun", ("GET", 3): "ListJobRuns", ("GET", 4): "GetJobRun", ("DELETE", 4): "CancelJobRun"}
_S3_CALLS = {"HEAD": "GetObject", "GET": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}


@dataclass
class EmrApi:
    """``calls`` are the submitter's actions as policies name them, those of S3 with the folder.

    ``on_get`` is called for each look at a run, before it is answered.
    """

    url: str = ""
    application: str = ""
    calls: list[str] = field(default_factory=list)
    on_get: Callable[[Any], None] = lambda _: None

    @property
    def environment(self) -> dict[str, str]:
        """Where clients find it, and credentials that mean nothing."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "submitter",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_ALLOW_HTTP": "true",
        }

    def runs(self) -> list[Any]:
        """The job runs that moto keeps."""
        from moto.emrserverless.models import emrserverless_backends

        found: list[Any] = emrserverless_backends[ACCOUNT][REGION].job_runs.get(self.application, [])
        return found


def play(run: Any, folder: Path) -> int:
    """Do what a job run names: its entry point with the library's zip, and the variables of its driver alone."""
    keys = {name.lower(): value for name, value in _WORKER.items()}
    s3, submitted = boto3.client("s3", **keys), run.job_driver["sparkSubmit"]
    words = shlex.split(submitted["sparkSubmitParameters"])
    conf = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--conf")
    declared = {k.removeprefix(_DRIVER_VARIABLE): v for k, v in conf.items() if k.startswith(_DRIVER_VARIABLE)}
    folder.mkdir()
    paths = []
    for uri in (submitted["entryPoint"], words[words.index("--py-files") + 1]):
        place = urlsplit(uri)
        paths.append(str(folder.parent / Path(place.path).name))
        s3.download_file(place.netloc, place.path.lstrip("/"), paths[-1])
    variables = {**declared, **_WORKER, "PYTHONPATH": paths[1], "PATH": os.environ["PATH"]}
    line = [sys.executable, paths[0], *submitted["entryPointArguments"]]
    return subprocess.run(line, cwd=folder, env=variables, capture_output=True).returncode


@contextmanager
def running_emr() -> Iterator[EmrApi]:
    """One application and one empty bucket, until the block ends."""
    from moto.emrserverless.models import emrserverless_backends
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from moto.s3.models import s3_backends

    api, inner = EmrApi(), DomainDispatcherApplication(create_backend_app)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method, parts = environ["REQUEST_METHOD"], environ["PATH_INFO"].strip("/").split("/")
        if parts[0] == "applications" and "jobruns" in parts:
            api.calls.append(f"emr-serverless:{_CALLS[method, len(parts)]}")
            if (method, len(parts)) == ("GET", 4):
                api.on_get(next(run for run in api.runs() if run.id == parts[-1]))
        elif parts[0] == BUCKET and len(parts) > 1 and SUBMITTER in environ.get("HTTP_AUTHORIZATION", ""):
            api.calls.append(f"s3:{_S3_CALLS[method]} {'/'.join(parts[1:-1])}")
        answer: Iterable[bytes] = inner(environ, start_response)
        return answer

    backend = emrserverless_backends[ACCOUNT][REGION]
    for each in (backend, s3_backends[ACCOUNT]["aws"]):
        each.reset()
    with running_server(application) as port:
        api.url = f"http://{LOOPBACK}:{port}"
        made = backend.create_application("lakehouse", "emr-7.1.0", "SPARK", "t", "", "", {}, "", "", None)
        api.application = made.id
        yield api
