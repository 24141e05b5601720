"""Waits for a job run of EMR Serverless: a process of its own, run by the operator.

``run REQUEST`` uploads what is not in S3 yet, starts the run, logs its states, and ends as the driver would have
ended here: with its last line and its exit code. ``cancel APPLICATION ATTEMPT`` cancels the run of a task that was
stopped or killed. Credentials are those that boto3 finds.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakehouse_provider.launch.outcome import log_line, report_outcome

TRANSIENT, TERMINAL = 1, 2
POLL_VARIABLE = "LAKEHOUSE_EMR_POLL_SECONDS"
POLL_SECONDS = 10.0
_ENDED = {"SUCCESS", "FAILED", "CANCELLED"}
_MISSED_POLLS = 10
_REFUSED = {"AccessDenied", "AccessDeniedException", "NoSuchBucket", "ResourceNotFoundException", "ValidationException"}


def run(request: Mapping[str, Any]) -> int:
    """Start the run and wait for its end; gives the exit code of its driver, 1 when that left no result."""
    import boto3

    emr = boto3.client("emr-serverless")
    job_run = _start(emr, request, _upload_all(boto3.client("s3"), request))
    where = _log_place(request, job_run)
    log_line(f"emr: job run {job_run} of application {request['application_id']} started; {where}")
    state, details = _wait(emr, request["application_id"], job_run)
    outcome = report_outcome(request["results"])
    if outcome is not None:
        return outcome
    log_line(
        f"try again: emr: job run {job_run} ended {state} without a result ({details or 'no reason given'}); {where}"
    )
    return TRANSIENT


def cancel(application: str, attempt: str) -> int:
    """Cancel the run of this attempt when there is one that has not ended."""
    import boto3

    emr = boto3.client("emr-serverless")
    states = ["SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "QUEUED"]
    for page in emr.get_paginator("list_job_runs").paginate(applicationId=application, states=states):
        for found in page["jobRuns"]:
            if found.get("name") == attempt:
                emr.cancel_job_run(applicationId=application, jobRunId=found["id"])
    return 0


def _upload_all(s3: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    files, place = request["files"], request["artifacts"]
    return {
        "entrypoint": _upload(s3, files["entrypoint"], place),
        "library": _upload(s3, files["library"], place),
        "jars": [jar if "://" in jar else _upload(s3, jar, place) for jar in files["jars"]],
    }


def _upload(s3: Any, path: str, place: str) -> str:
    """The object of this content: uploaded once, then found by its name, which has the content's hash in it."""
    from botocore.exceptions import ClientError

    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]
    bucket, _, folder = place.removeprefix("s3://").partition("/")
    key = "/".join(part for part in (folder, digest, Path(path).name) if part)
    try:
        s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("404", "NoSuchKey"):
            raise
        log_line(f"emr: uploading {Path(path).name}")
        with open(path, "rb") as file:
            s3.put_object(Bucket=bucket, Key=key, Body=file)
    return f"s3://{bucket}/{key}"


def _start(emr: Any, request: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """Start the run and give its id; another call for the same attempt gives the same run."""
    wanted = request["run"]
    words = [wanted["parameters"], f"--py-files {sent['library']}"]
    if sent["jars"]:
        words.append(f"--jars {','.join(sent['jars'])}")
    overrides: dict[str, Any] = {}
    if wanted["defaults"]:
        overrides["applicationConfiguration"] = [{"classification": "spark-defaults", "properties": wanted["defaults"]}]
    if request["logs"]:
        overrides["monitoringConfiguration"] = {"s3MonitoringConfiguration": {"logUri": f"{request['logs']}/"}}
    started = emr.start_job_run(
        applicationId=request["application_id"],
        clientToken=request["attempt"],
        name=request["attempt"],
        executionRoleArn=wanted["executionRoleArn"],
        executionTimeoutMinutes=wanted["executionTimeoutMinutes"],
        jobDriver={
            "sparkSubmit": {
                "entryPoint": sent["entrypoint"],
                "entryPointArguments": wanted["arguments"],
                "sparkSubmitParameters": " ".join(word for word in words if word),
            }
        },
        **({"configurationOverrides": overrides} if overrides else {}),
    )
    run_id: str = started["jobRunId"]
    return run_id


def _wait(emr: Any, application: str, job_run: str) -> tuple[str, str]:
    """The last state and what EMR says of it; some answers may be missed, since the run goes on without them."""
    from botocore.exceptions import BotoCoreError, ClientError

    pause, missed, last = float(os.environ.get(POLL_VARIABLE) or POLL_SECONDS), 0, ""
    while True:
        try:
            facts = emr.get_job_run(applicationId=application, jobRunId=job_run)["jobRun"]
            missed = 0
        except (BotoCoreError, ClientError) as error:
            missed += 1
            if missed > _MISSED_POLLS:
                raise
            log_line(f"emr: no answer about job run {job_run} ({error}); polling again")
            time.sleep(pause)
            continue
        if facts["state"] != last:
            last = facts["state"]
            log_line(f"emr: job run {job_run} is {last}{_in_parentheses(facts.get('stateDetails'))}")
        if last in _ENDED:
            return last, facts.get("stateDetails") or ""
        time.sleep(pause)


def _in_parentheses(details: str | None) -> str:
    return f" ({details})" if details else ""


def _log_place(request: Mapping[str, Any], job_run: str) -> str:
    application = request["application_id"]
    if request["logs"]:
        return f"the driver's log: {request['logs']}/applications/{application}/jobs/{job_run}/SPARK_DRIVER/"
    ids = f"--application-id {application} --job-run-id {job_run}"
    return f"its pages and logs: aws emr-serverless get-dashboard-for-job-run {ids}"


def main(argv: list[str]) -> int:
    """Run the command line and give the exit code; what AWS refuses is terminal, what it fails at is transient."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        NoCredentialsError,
        NoRegionError,
        PartialCredentialsError,
    )

    request: dict[str, Any] = {}
    try:
        if argv[0] == "cancel":
            return cancel(argv[1], argv[2])
        request = json.loads(Path(argv[1]).read_text(encoding="utf-8"))
        return run(request)
    except (NoCredentialsError, PartialCredentialsError, NoRegionError) as error:
        log_line(f"error: emr: {error}; set AWS_REGION, and let the task find credentials as every AWS client does")
        return TERMINAL
    except (BotoCoreError, ClientError) as error:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
        is_refused = code in _REFUSED or code in ("403", "404")
        log_line(f"{'error' if is_refused else 'try again'}: emr: {error}")
        if request:
            cancel_quietly(request)
        return TERMINAL if is_refused else TRANSIENT


def cancel_quietly(request: Mapping[str, Any]) -> None:
    """End a run whose result is no longer awaited, if AWS can be reached."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        cancel(request["application_id"], request["attempt"])
    except (BotoCoreError, ClientError) as error:
        log_line(f"emr: it could not be cancelled either ({error}); look for job run {request['attempt']}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
