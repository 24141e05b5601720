"""Settings of Trino by the variables of AWS's clients: one that it does not use keeps it from starting."""

from __future__ import annotations

import pytest

from local_stack.servers.trino_server import TABLES, VIEWS, build_settings

REGION, ENDPOINT = {"AWS_REGION": "eu-west-1"}, {"AWS_ENDPOINT_URL": "http://s3"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        (REGION, {"fs.native-s3.enabled": "true", "s3.region": "eu-west-1"}),
        (ENDPOINT, {"fs.native-s3.enabled": "true", "s3.endpoint": "http://s3", "s3.path-style-access": "true"}),
    ],
)
def test_s3_is_turned_on_by_a_region_or_an_endpoint(environ: dict[str, str], expected: dict[str, str]) -> None:
    files = build_settings(port=1, metastore="thrift://m:1", environ=environ)
    for catalog in (TABLES, VIEWS):
        settings = files[f"catalog/{catalog}.properties"]
        assert {name: value for name, value in settings.items() if "s3" in name} == expected
