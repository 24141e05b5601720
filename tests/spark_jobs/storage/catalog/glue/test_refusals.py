"""What Glue refuses: to be tried again, or a setting to correct; its answers are given by botocore's stub."""

from __future__ import annotations

import pytest
from botocore.stub import Stubber

from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.storage.catalog.glue import Glue
from tests.support.without_aws import forget_aws

REGION = {"AWS_DEFAULT_REGION": "eu-central-1"}
LOGIN = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}


def test_without_a_region_it_cannot_be_called(monkeypatch: pytest.MonkeyPatch):
    forget_aws(monkeypatch, **LOGIN)
    with pytest.raises(SettingsError, match=r"^AWS Glue cannot be called .*region.*; set AWS_DEFAULT_REGION$"):
        Glue("sales")


def test_without_credentials_the_job_is_to_be_given_some(monkeypatch: pytest.MonkeyPatch):
    forget_aws(monkeypatch, **REGION)
    with pytest.raises(SettingsError, match=r"^AWS Glue cannot be called .*; give the job a role or credentials$"):
        Glue("sales").has_database()


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        ("ThrottlingException", TransientError, "run sync apply again"),
        ("InternalServiceException", TransientError, "run sync apply again"),
        ("ConcurrentModificationException", TransientError, "run sync apply again"),
        ("AccessDeniedException", SettingsError, "correct the role's rights or the database's name"),
    ],
)
def test_what_passes_may_be_tried_again_and_what_does_not_is_to_be_corrected(
    monkeypatch: pytest.MonkeyPatch, code: str, kind: type[Exception], advice: str
):
    forget_aws(monkeypatch, **REGION, **LOGIN)
    glue = Glue("sales")
    with Stubber(glue._client) as stub:
        stub.add_client_error("get_tables", code, "why")
        with pytest.raises(kind) as caught:
            glue.tables()
    assert str(caught.value) == f"Glue database sales: {code}: why; {advice}"
