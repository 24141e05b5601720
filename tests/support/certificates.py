"""An authority of a test's own, and a certificate of this machine that it signed."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from local_stack.servers.services import LOOPBACK


def make_certificates() -> dict[str, str]:
    """New ones, as PEM: ``authority``, ``certificate`` of the loopback interface, and its ``key``."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _name("Test authority")
    basic = x509.BasicConstraints(ca=True, path_length=None)
    signed = _builder(authority, authority, authority_key).add_extension(basic, critical=True)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))])
    certificate = _builder(_name("Test broker"), authority, key).add_extension(address, critical=False)
    return {
        "authority": _text(signed.sign(authority_key, hashes.SHA256())),
        "certificate": _text(certificate.sign(authority_key, hashes.SHA256())),
        "key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
    }


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    dated = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=7))
    return dated.serial_number(x509.random_serial_number())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
