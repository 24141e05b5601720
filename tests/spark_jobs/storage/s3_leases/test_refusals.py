"""A store that does not let us have a lease: what it says becomes what to do. No server is needed.

Answers are those of S3's API reference, given by botocore's stub.
"""

from __future__ import annotations

from io import BytesIO

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from urllib3.exceptions import ProtocolError

from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.storage.s3_leases import Lease, hold_object, open_client
from tests.support.without_aws import forget_aws

PLACE = "the lease s3://bucket/lake/.leases/units.lease"


@pytest.fixture
def lease(monkeypatch: pytest.MonkeyPatch) -> Lease:
    forget_aws(monkeypatch, AWS_DEFAULT_REGION="eu-central-1", AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y")
    return Lease(client=open_client(), bucket="bucket", key="lake/.leases/units.lease", who="me")


def test_one_that_may_not_be_written_says_which_rights_are_missing(lease: Lease):
    with Stubber(lease.client) as stub:
        stub.add_client_error("get_object", "NoSuchKey", http_status_code=404)
        stub.add_client_error("put_object", "AccessDenied", "Access Denied", http_status_code=403)
        with pytest.raises(SettingsError) as caught:
            lease.take()
    assert (
        str(caught.value) == f"{PLACE}: AccessDenied: Access Denied; a writer needs s3:GetObject and s3:PutObject there"
    )
    assert not lease.is_held()


@pytest.mark.parametrize(("code", "status"), [("InternalError", 500), ("SlowDown", 503)])
def test_a_store_that_is_overwhelmed_may_be_tried_again(lease: Lease, code: str, status: int):
    with Stubber(lease.client) as stub:
        stub.add_client_error("get_object", code, "why", http_status_code=status)
        with pytest.raises(TransientError) as caught:
            lease.take()
    assert str(caught.value) == f"{PLACE}: {code}: why; run again later"


def test_an_answer_that_breaks_off_may_be_tried_again(lease: Lease, monkeypatch: pytest.MonkeyPatch):
    """Also the body of an error, of which the client lets the connection's own exception through."""

    def break_off(**_: str) -> None:
        raise ProtocolError("Connection broken: IncompleteRead(45 bytes read, 45 more expected)")

    monkeypatch.setattr(lease.client, "get_object", break_off)
    with pytest.raises(TransientError, match="run again later"):
        lease.take()
    lease.release()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[1]", b"7"])
def test_an_object_without_a_holder_is_a_lease_of_an_unknown_job(lease: Lease, content: bytes):
    """It is waited for like any other, and never taken at once."""
    with Stubber(lease.client) as stub:
        stub.add_response("get_object", {"ETag": '"a"', "Body": StreamingBody(BytesIO(content), len(content))})
        assert lease.take() == "unknown"
        stub.assert_no_pending_responses()


def test_without_credentials_the_job_is_to_be_given_some(monkeypatch: pytest.MonkeyPatch):
    forget_aws(monkeypatch, AWS_DEFAULT_REGION="eu-central-1")
    held = hold_object(open_client(), "s3a://bucket/lake", table="units", who="me", wait=0)
    with (
        pytest.raises(SettingsError, match=r"cannot be requested .*; give the job a role or credentials$") as caught,
        held,
    ):
        pytest.fail("a lease without credentials")
    assert str(caught.value).startswith(PLACE)
