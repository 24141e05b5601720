"""What only the project sets is exactly what its sessions are given, but for what a cluster may tune."""

from __future__ import annotations

from spark_jobs.contracts.session_rules import FIXED, TUNABLE, own_settings
from spark_jobs.contracts.settings import Settings
from spark_jobs.session import build_session_options
from spark_jobs.storage.options import build_procedure_options
from spark_jobs.storage.snapshots import MOST_FILES

EVERYWHERE = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://s3"}


def test_every_setting_of_a_session_is_fixed_or_tunable():
    settings = Settings(s3_encryption="SSE-KMS", s3_kms_key="arn:aws:kms:eu-west-1:000000000000:key/k")
    assert set(build_session_options(settings, EVERYWHERE)) == FIXED | TUNABLE
    assert not FIXED & TUNABLE


def test_options_of_hudis_procedures_are_fixed_too():
    names = set(build_procedure_options())
    assert names
    assert own_settings([*names, "spark.executor.cores", *TUNABLE]) == sorted(names)


def test_files_that_are_named_are_looked_at_in_the_driver_where_that_is_quick() -> None:
    """On an object store each takes requests, one after another."""
    key = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    found = {path: build_session_options(Settings(base_path=path), {})[key] for path in ("/lake", "s3a://lake/sales")}
    assert found == {"/lake": str(MOST_FILES), "s3a://lake/sales": "32"}
