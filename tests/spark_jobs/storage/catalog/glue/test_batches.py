"""Many partitions in several calls, and answers that take some of them: every one is looked at, not the first.

Glue's answers are those of its API's reference, given by botocore's stub, which checks each request against the API.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import Stubber

from spark_jobs.contracts.errors import TransientError
from spark_jobs.storage.catalog.glue import Glue

CALLS = {
    "batch_create_partition": (100, "PartitionInputList"),
    "batch_update_partition": (100, "Entries"),
    "batch_delete_partition": (25, "PartitionsToDelete"),
}
"""The most of one call, and where they are in it."""
ERRORS = {"batch_update_partition": "PartitionValueList"}
"""Where an error names its partition, if not as PartitionValues."""


@pytest.fixture
def glue(monkeypatch: pytest.MonkeyPatch) -> Glue:
    for name, value in {"DEFAULT_REGION": "eu-central-1", "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return Glue("sales")


def send(glue: Glue, call: str, values: list[str]) -> None:
    if call == "batch_delete_partition":
        glue.drop_partitions("log", values)
        return
    send_all = glue.add_partitions if call == "batch_create_partition" else glue.update_partitions
    send_all("log", [{"Values": [value]} for value in values])


def entries(call: str, values: list[str]) -> list[dict[str, Any]]:
    if call == "batch_update_partition":
        return [{"PartitionValueList": [value], "PartitionInput": {"Values": [value]}} for value in values]
    return [{"Values": [value]} for value in values]


def answer(call: str, codes: list[str]) -> dict[str, Any]:
    return {
        "Errors": [
            {ERRORS.get(call, "PartitionValues"): [f"{at}"], "ErrorDetail": {"ErrorCode": code, "ErrorMessage": "why"}}
            for at, code in enumerate(codes)
        ]
    }


def slices(call: str, values: list[str]) -> Iterator[list[str]]:
    most, _ = CALLS[call]
    return (values[at : at + most] for at in range(0, len(values), most))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("count", [1, 24, 25, 26, 99, 100, 101, 200, 201])
def test_every_partition_is_sent_once_in_calls_that_glue_takes(glue: Glue, call: str, count: int):
    values = [f"2026-{number}" for number in range(count)]
    with Stubber(glue._client) as stub:
        for some in slices(call, values):
            expected = {"DatabaseName": "sales", "TableName": "log", CALLS[call][1]: entries(call, some)}
            stub.add_response(call, {}, expected)
        send(glue, call, values)
        stub.assert_no_pending_responses()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("codes", "refused"),
    [
        (["AlreadyExistsException", "EntityNotFoundException"], 0),
        (["InternalServiceException"], 1),
        (["AlreadyExistsException", "InternalServiceException"], 1),
        (["InternalServiceException", "EntityNotFoundException"], 1),
        (["EntityNotFoundException", "ThrottlingException", "ResourceNumberLimitExceededException"], 2),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_whatever_was_not_taken_fails_the_sync_wherever_it_is(
    glue: Glue, call: str, codes: list[str], refused: int, at: int
):
    """In the first of three calls, the second or the last."""
    values = [f"{number}" for number in range(2 * CALLS[call][0] + 1)]
    with Stubber(glue._client) as stub:
        for number, _ in enumerate(slices(call, values)):
            stub.add_response(call, answer(call, codes) if number == at else {})
        if refused:
            with pytest.raises(TransientError, match=rf"log: Glue refused {refused} of its partitions \(\w+: why\)"):
                send(glue, call, values)
        else:
            send(glue, call, values)
            stub.assert_no_pending_responses()
