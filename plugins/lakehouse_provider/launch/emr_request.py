"""From a connection with engine ``emr_serverless`` to a job run of an EMR Serverless application.

The connection's extra: ``application_id``, ``execution_role_arn`` and ``artifacts`` (``s3://bucket/folder`` for what
is sent along); optional ``logs``, ``results``, ``jars``, ``python_archive``, ``conf`` and ``timeout_minutes``.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

from lakehouse_provider.launch.engine_conf import build_conf
from lakehouse_provider.launch.job_command import ConnectionFacts, JobCommand, python_path
from lakehouse_provider.launch.library import ENTRYPOINT, aws_places, build_library_zip, remote_environment
from lakehouse_provider.launch.secret_conf import split_secrets
from lakehouse_provider.launch.submission import in_step, jars_of, results_place
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings

if TYPE_CHECKING:
    from lakehouse_provider.launch.submission import Submission

DEFAULT_TIMEOUT_MINUTES = 720
_LEAST_MINUTES = 5
"""EMR takes no shorter limit."""
_NEEDED = {
    "application_id": re.compile(r"[0-9a-z]{1,64}"),
    "execution_role_arn": re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/\S+"),
    "artifacts": re.compile(r"s3a?://[^/\s]+(/\S*)?"),
}
_OWN_JAR = "hudi"
"""EMR brings its own S3 connector and SDK; of the project's jars it lacks this one."""
_PLAIN = re.compile(r"[^\s'\"\\]+")


def build_emr_command(submission: Submission) -> JobCommand:
    """The process that starts the run and waits for it; SettingsError when the connection lacks something."""
    connection = submission.connection
    facts = _needed(connection)
    results = results_place(connection, submission.environment, submission.attempt)
    request = {
        "application_id": facts["application_id"],
        "attempt": submission.attempt,
        "artifacts": facts["artifacts"].replace("s3a://", "s3://", 1).rstrip("/"),
        "logs": _s3(connection, "logs"),
        "results": results,
        "files": _files(submission),
        "run": _run(submission, facts["execution_role_arn"], ["--result-path", results, *submission.job_line]),
    }
    path = submission.work_path / "emr.json"
    path.write_text(json.dumps(request, indent=2), encoding="utf-8")
    waiter = (sys.executable, "-m", "lakehouse_provider.launch.emr_run")
    return JobCommand(
        arguments=(*waiter, "run", str(path)),
        environment={**submission.environment, "PYTHONPATH": python_path()},
        afterwards=(*waiter, "cancel", facts["application_id"], submission.attempt),
    )


def _needed(connection: ConnectionFacts) -> dict[str, str]:
    facts = {name: str(connection.extra_dejson.get(name) or "") for name in _NEEDED}
    for name, form in _NEEDED.items():
        if not form.fullmatch(facts[name]):
            raise SettingsError(
                f"connection {connection.conn_id}: engine emr_serverless needs {name} in its extra; {facts[name]!r} "
                f"is none: docs/cluster.md has an example"
            )
    return facts


def _minutes(connection: ConnectionFacts) -> int:
    given = connection.extra_dejson.get("timeout_minutes") or DEFAULT_TIMEOUT_MINUTES
    if not str(given).isdigit() or int(given) < _LEAST_MINUTES:
        raise SettingsError(
            f"connection {connection.conn_id}: timeout_minutes {given!r} is no whole number from {_LEAST_MINUTES} on"
        )
    return int(given)


def _s3(connection: ConnectionFacts, name: str) -> str:
    uri = str(connection.extra_dejson.get(name) or "").replace("s3a://", "s3://", 1)
    if uri and not uri.startswith("s3://"):
        raise SettingsError(
            f"connection {connection.conn_id}: {name} {uri!r} is no place in S3; give s3://bucket/folder"
        )
    return uri.rstrip("/")


def _files(submission: Submission) -> dict[str, Any]:
    """What is sent: paths of this machine are uploaded, and objects of S3 are named as they are."""
    settings = Settings.from_environment(submission.environment)
    jars = jars_of(submission.connection, settings)
    if not submission.connection.extra_dejson.get("jars"):
        jars = [jar for jar in jars if _OWN_JAR in jar.rsplit("/", 1)[-1]]
    zipped = build_library_zip(submission.work_path / "spark_jobs.zip", settings)
    return {"entrypoint": str(ENTRYPOINT), "library": str(zipped), "jars": jars}


def _run(submission: Submission, role: str, arguments: list[str]) -> dict[str, Any]:
    """What ``start_job_run`` needs, except for where the uploaded files are."""
    connection, environment = submission.connection, submission.environment
    conf = build_conf(connection, environment)
    if secret := sorted(split_secrets(conf)[1]):
        raise SettingsError(
            f"connection {connection.conn_id}: conf sets {', '.join(secret)}, and EMR shows what a job run "
            f"is given; let the execution role or AWS Secrets Manager supply it"
        )
    conf.setdefault("spark.driver.memory", Settings.from_environment(environment).driver_memory)
    variables = {**remote_environment(environment), **in_step(conf)}
    for_all = aws_places(environment)
    if archive := connection.extra_dejson.get("python_archive"):
        conf["spark.archives"] = f"{archive}#environment"
        variables |= {"PYSPARK_DRIVER_PYTHON": "./environment/bin/python"}
        for_all |= {"PYSPARK_PYTHON": "./environment/bin/python"}
    conf |= {f"spark.emr-serverless.driverEnv.{name}": text for name, text in {**variables, **for_all}.items()}
    conf |= {f"spark.executorEnv.{name}": text for name, text in for_all.items()}
    plain = {name: text for name, text in conf.items() if _PLAIN.fullmatch(text)}
    return {
        "executionRoleArn": role,
        "executionTimeoutMinutes": _minutes(connection),
        "arguments": arguments,
        "parameters": " ".join(f"--conf {shlex.quote(f'{name}={text}')}" for name, text in sorted(plain.items())),
        # How a value with blanks would have to be quoted in those parameters is not documented; here it needs nothing.
        "defaults": {name: text for name, text in sorted(conf.items()) if name not in plain},
    }
