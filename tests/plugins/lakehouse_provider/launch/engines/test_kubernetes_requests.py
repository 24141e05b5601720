"""What Spark's own spark-submit requests from Kubernetes for a job, and for a task that was killed.

There is no Kubernetes here: the tests have an API server that records each request and refuses it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lakehouse_provider.launch.engines import build_job_command
from lakehouse_provider.launch.job_process import JobProcess
from local_stack.install.java import find_java
from local_stack.servers.services import LOOPBACK
from tests.support.connections import Facts
from tests.support.http_servers import running_server

pytestmark = pytest.mark.services
ATTEMPT = "11111111-2222-4333-8444-555555555555"
PODS = "/api/v1/namespaces/lake/pods"
REFUSAL = json.dumps(
    {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
).encode()


@dataclass
class Refusing:
    """``requests`` are method, path and body of each request."""

    port: int = 0
    requests: list[tuple[str, str, Any]] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Refusing]:
    refusing = Refusing()

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        refusing.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], json.loads(body or b"null")))
        start_response("403 Forbidden", [("Content-Type", "application/json")])
        return [REFUSAL]

    with running_server(application) as refusing.port:
        yield refusing


def test_a_driver_is_a_pod_with_the_jobs_words_and_it_is_removed_by_its_name(server: Refusing, tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    results = str(tmp_path / "results")
    conf = {
        "spark.kubernetes.container.image": "lakehouse:1",
        "spark.kubernetes.namespace": "lake",
        "spark.kubernetes.file.upload.path": (tmp_path / "uploads").as_uri(),
    }
    extra = {"engine": "kubernetes", "deploy-mode": "cluster", "jars": "provided", "conf": conf, "results": results}
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "LAKEHOUSE_BASE_PATH": "s3a://b/lake",
        "LAKEHOUSE_LANDING_PATH": "s3a://b/landing",
    }
    master = Facts("spark", host=f"k8s://http://{LOOPBACK}", port=server.port, extra_dejson=extra)
    command = build_job_command(
        master, ["ingest", "--clock", "T"], environment=environment, work_path=tmp_path, attempt=ATTEMPT
    )
    ended = JobProcess(command, log=lambda _: None).run()
    pod = f"lakehouse-{ATTEMPT}"
    assert (ended.code, ended.reason) == (
        1,
        f"try again: spark-submit ended with code 1 and the driver left no result; its log: kubectl logs -n lake {pod}",
    )
    (method, path, body), *rest = server.requests
    assert (method, path, body["metadata"]["name"]) == ("POST", PODS, pod)
    (container,) = body["spec"]["containers"]
    assert container["args"][-5:] == ["--result-path", f"{results}/{ATTEMPT}.json", "ingest", "--clock", "T"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["LAKEHOUSE_BASE_PATH"] == "s3a://b/lake"
    assert "LAKEHOUSE_LAKE_SPEC" not in variables
    assert sorted(file.name for file in (tmp_path / "uploads").rglob("*.*")) == ["entrypoint.py", "spark_jobs.zip"]
    assert [(method, path) for method, path, _ in rest] == [("DELETE", f"{PODS}/{pod}")]
