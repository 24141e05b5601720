"""Files on an S3 server, by the same functions as those on disk, and the session's settings for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.session import build_session_options
from spark_jobs.storage import filesystem
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.s3 import is_s3, split_uri
from tests.support.aws import BUCKET

S3A = "spark.hadoop.fs.s3a."


@pytest.fixture
def files(s3: Mapping[str, str], tmp_path: Path) -> Filesystem:
    return Filesystem(f"s3a://{BUCKET}/{tmp_path.name}")


@pytest.mark.services
def test_what_is_written_is_read_listed_and_removed(files: Filesystem):
    assert files.read("a/b.json") is None
    assert files.list_files(recursive=True) == []
    assert not files.has_folder()
    files.write("a/b.json", b"one")
    files.write("a/b.json", b"two")
    files.write("a/c/d.json.gz", b"\x1f\x8bthree")
    assert files.read("a/b.json") == b"two"
    assert [entry.path.removeprefix(files.root) for entry in files.list_files("a")] == ["/a/b.json"]
    assert [entry.size for entry in files.list_files("a", recursive=True)] == [3, 7]
    assert files.folders("a") == ["c"]
    files.make_folder("empty")
    there = [files.has_folder(name) for name in ("", "a", "a/c", "empty", "b", "a/b")]
    assert there == [True, True, True, True, False, False]
    assert (files.changed_ns("a/b.json") or 0) > 10**18
    assert files.newest_change("a") >= (files.changed_ns("a/b.json") or 0)
    with files.open(files.list_files("a")[0].path) as stream:
        assert stream.read() == b"two"
    files.move("a/b.json", "a/c/e.json")
    assert (files.read("a/b.json"), files.read("a/c/e.json")) == (None, b"two")
    files.move("a/c/e.json", "a/b.json")
    files.delete("a/b.json")
    files.delete("a/b.json")
    assert files.changed_ns("a/b.json") is None
    files.delete_tree()
    assert files.list_files(recursive=True) == []


@pytest.mark.services
def test_a_bucket_is_a_root_too(s3: Mapping[str, str], tmp_path: Path):
    bucket = Filesystem(f"s3a://{BUCKET}")
    bucket.write(f"{tmp_path.name}-file", b"one")
    assert Filesystem(f"s3a://{BUCKET}/").read(f"{tmp_path.name}-file") == b"one"


@pytest.mark.services
def test_a_bucket_that_is_not_there_is_named(s3: Mapping[str, str]):
    with pytest.raises((SettingsError, OSError), match="missing-bucket"):
        Filesystem("s3a://missing-bucket/lake").write("a", b"x")


@pytest.mark.parametrize(
    ("uri", "parts"),
    [("s3a://b/lake/", ("b", "lake")), ("s3://b", ("b", "")), ("s3a://b/a/c", ("b", "a/c"))],
)
def test_a_uri_is_a_bucket_and_a_key(uri: str, parts: tuple[str, str]):
    assert is_s3(uri)
    assert split_uri(uri) == parts


def test_without_an_endpoint_it_is_amazons_with_its_own_credentials():
    options = build_session_options(Settings(), {"AWS_REGION": "eu-west-1", "AWS_SECRET_ACCESS_KEY": "canary"})
    assert options[f"{S3A}endpoint.region"] == "eu-west-1"
    assert options[f"{S3A}aws.credentials.provider"].endswith("DefaultAWSCredentialsProviderChain")
    assert f"{S3A}endpoint" not in options
    assert "canary" not in str(options)


@pytest.mark.parametrize(("url", "is_encrypted"), [("http://127.0.0.1:1", "false"), ("https://s3.example.com", "true")])
def test_another_server_is_called_by_its_path(url: str, is_encrypted: str):
    options = build_session_options(Settings(), {"AWS_ENDPOINT_URL_S3": url, "AWS_ENDPOINT_URL": "http://other"})
    assert options[f"{S3A}endpoint"] == url
    assert options[f"{S3A}path.style.access"] == "true"
    assert options[f"{S3A}connection.ssl.enabled"] == is_encrypted


@pytest.mark.parametrize(
    ("root", "error", "exit_code"),
    [
        ("s3a://b/lake", OSError("When resolving region for bucket 'b': AWS Error SLOW_DOWN (HTTP status 503)"), 1),
        ("s3://b/lake", OSError("When resolving region for bucket 'b': AWS Error NETWORK_CONNECTION"), 1),
        ("s3a://b/lake", OSError("Bucket 'b' not found"), 2),
        ("s3a://b /lake", ValueError("Cannot parse URI"), 2),
        ("gs://b/lake", OSError("Google cloud client library could not be found"), 2),
    ],
)
def test_a_bucket_that_could_not_be_looked_up_is_tried_again(root: str, error: OSError | ValueError, exit_code: int):
    """Where no variable names a region or an endpoint, pyarrow queries Amazon for where the bucket is."""
    assert filesystem._cannot_open(root, error).exit_code == exit_code


def test_encryption_is_requested_when_it_is_set():
    options = build_session_options(Settings(s3_encryption="SSE-KMS", s3_kms_key="arn:aws:kms:x:1:key/2"), {})
    assert options[f"{S3A}encryption.algorithm"] == "SSE-KMS"
    assert options[f"{S3A}encryption.key"] == "arn:aws:kms:x:1:key/2"
    with pytest.raises(SettingsError, match="LAKEHOUSE_S3_ENCRYPTION='rot13' must be AES256 or SSE-KMS"):
        Settings(s3_encryption="rot13")
