"""Spark's own ``--packages`` resolver, run with a folder of its own and the certificates this machine trusts."""

from __future__ import annotations

import importlib.util
import os
import re
import ssl
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from local_stack.errors import DownloadError, SetupError
from local_stack.install.jars import JarSet
from local_stack.install.java import Java

_TRIES = 2
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_STORE_WORD = "changeit"
"""What every Java's store of public certificates opens with; there is nothing to keep secret in one."""
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_WISH = """<ivy-module version="2.0">
  <info organisation="local" module="wish"/>
  <dependencies>
    <dependency org="{group}" name="{name}" rev="{version}" transitive="false">
      <artifact name="{name}" type="{extension}" ext="{extension}"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
_REASONS = ("Server access error", "No space left", "Exception in thread", ": not found", "ERROR", "rror:")
"""Parts of lines that give the reason of a failure, the clearest first."""


def resolve(jar_set: JarSet, *, java: Java, ivy: Path) -> Path:
    """Fetch the set's jars below ``ivy`` and return the flat folder that they are in. DownloadError after two tries.

    The script that Spark is given does nothing: resolving comes before it, and no session is started.
    """
    ivy.mkdir(parents=True, exist_ok=True)
    log, script = ivy / "resolver.log", ivy / "nothing.py"
    script.write_text("")
    spark_home = _spark_home()
    command = [
        *(str(spark_home / "bin" / "spark-submit"), "--master", "local[1]"),
        *("--packages", ",".join(jar_set.coordinates), "--exclude-packages", ",".join(jar_set.excludes)),
        *("--conf", f"spark.jars.ivy={ivy}", str(script)),
    ]
    environment = _environment(java=java, spark_home=spark_home, options=_trust_options(ivy / "trust.p12"))
    for _ in range(_TRIES):
        with log.open("w") as output:
            code = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.STDOUT).returncode
        if code == 0:
            return ivy / "jars"
    raise DownloadError(
        f"jars could not be fetched ({_reason(log) or f'spark-submit ended with code {code}'}); "
        f"check the network and try again; the resolver's words are in {log}"
    )


def fetch_archive(coordinate: str, *, into: Path, java: Java) -> Path:
    """Fetch one file that is no jar, ``group:name:version:extension``, by the same resolver; gives where it is.

    DownloadError after two tries.
    """
    group, name, version, extension = coordinate.split(":")
    into.mkdir(parents=True, exist_ok=True)
    wish, log, file = into / "ivy.xml", into / "resolver.log", into / f"{name}-{version}.{extension}"
    wish.write_text(_WISH.format(group=group, name=name, version=version, extension=extension), encoding="utf-8")
    command = [
        *(str(java.home / "bin" / "java"), *_trust_options(into / "trust.p12").split()),
        *("-cp", ":".join(str(jar) for jar in (_spark_home() / "jars").glob("ivy-*.jar")), "org.apache.ivy.Main"),
        *("-ivy", str(wish), "-cache", str(into / "ivy"), "-retrieve", str(into / "[artifact]-[revision].[ext]")),
        *("-types", extension, "-warn"),
    ]
    for _ in range(_TRIES):
        with log.open("w") as output:
            subprocess.run(command, stdout=output, stderr=subprocess.STDOUT)
        if file.exists():
            return file
    raise DownloadError(
        f"{file.name} could not be fetched ({_reason(log) or 'no reason given'}); check the network and try again; the "
        f"resolver's words are in {log}"
    )


def write_trust_store(bundle: Path, store: Path) -> None:
    """Turn a PEM bundle into a store that Java reads.

    A Java from a package knows only its own authorities, not one that this machine's administrator added.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    entries = []
    with warnings.catch_warnings(action="ignore"):
        for number, pem in enumerate(_CERTIFICATE.findall(bundle.read_bytes())):
            with suppress(ValueError):  # one certificate that breaks the rules does not cost the others
                certificate = x509.load_pem_x509_certificate(pem)
                entries.append(pkcs12.PKCS12Certificate(certificate, str(number).encode()))
    store.write_bytes(pkcs12.serialize_java_truststore(entries, BestAvailableEncryption(_STORE_WORD.encode())))


def _reason(log: Path) -> str:
    """The line of the resolver's log that best explains the failure; empty when there is none."""
    lines = log.read_text(errors="replace").splitlines()
    return next((line.strip() for mark in _REASONS for line in lines if mark in line), "")


def _trust_options(store: Path) -> str:
    """Java options that name the machine's certificates; none where there is no bundle, then Java uses its own."""
    known = (os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_BUNDLES)
    bundle = next((Path(path) for path in known if path and Path(path).is_file()), None)
    if bundle is None:
        return ""
    write_trust_store(bundle, store)
    options = {"trustStore": str(store), "trustStoreType": "PKCS12", "trustStorePassword": _STORE_WORD}
    return " ".join(f"-Djavax.net.ssl.{name}={value}" for name, value in options.items())


def _environment(*, java: Java, spark_home: Path, options: str) -> dict[str, str]:
    """The resolver's variables: this project's Spark and Java, nothing that another Spark left in the shell."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": options,
        "PYSPARK_PYTHON": sys.executable,
    }


def _spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("this Python has no pyspark; run 'make setup', or install requirements.txt first")
    return Path(spec.origin).parent
