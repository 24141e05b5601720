"""The store of certificates that Java gets for the resolver, made from a bundle as a machine keeps it."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from local_stack.errors import DownloadError
from local_stack.install.jars import JarSet
from local_stack.install.java import Java, find_java
from local_stack.install.resolver import resolve, write_trust_store


def make_certificate(name: str) -> bytes:
    """A self-signed certificate in PEM form."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 7, start, start + timedelta(days=9999))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_java_reads_every_certificate_of_the_bundle(tmp_path):
    bundle, store = tmp_path / "bundle.pem", tmp_path / "trust.p12"
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    bundle.write_bytes(b"# a bundle\n" + make_certificate("house one") + broken + make_certificate("house two"))
    write_trust_store(bundle, store)
    keytool = find_java({"PATH": ""}).home / "bin" / "keytool"
    command = [str(keytool), "-list", "-v", "-keystore", str(store), "-storepass", "changeit"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "CN=house one" in listed
    assert "CN=house two" in listed
    assert listed.count("trustedCertEntry") == 2


def test_a_resolver_that_fails_says_why_in_one_line(tmp_path, monkeypatch):
    """A Java that cannot start is an example of any failure of spark-submit; the log it left is named."""
    java = Java(home=tmp_path / "no-java", version="17", specification="17", origin="JAVA_HOME")
    jar_set = JarSet(folder=Path("jars"), coordinates=("a:b:1",), excludes=("c:d",))
    with pytest.raises(DownloadError) as caught:
        resolve(jar_set, java=java, ivy=tmp_path / "ivy")
    message = str(caught.value)
    assert "\n" not in message
    assert str(tmp_path / "ivy" / "resolver.log") in message
    assert (tmp_path / "ivy" / "resolver.log").exists()
