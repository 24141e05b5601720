"""Make the secrets that docker-compose.yaml reads as files; those that are there stay as they are.

The folder is its owner's alone. The files in it are readable by everybody who gets that far, because each container
has another user and sees only the files that it is given.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT

FOLDER = PROJECT_ROOT / ".secrets"
BUCKET = "lake"
READS = ("s3:GetBucketLocation", "s3:GetObject", "s3:ListBucket")
WRITES = (
    *("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetBucketVersioning"),
    *("s3:ListBucketMultipartUploads", "s3:ListBucketVersions", "s3:ListMultipartUploadParts", "s3:PutObject"),
)
"""What jobs do with objects beside reading them. Nothing of the bucket itself, which the server's own key made."""
Values = dict[str, str]


def run(argv: list[str]) -> int:
    """Make what is missing; 0 when everything is there."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack secrets", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they go (default .secrets)")
    folder = parser.parse_args(argv).folder
    made = make_secrets(folder)
    say(f"secrets: made {', '.join(made)}" if made else "secrets: nothing to do")
    say(f"secrets: the password of the user admin in Airflow and Superset is in {folder}/admin_password")
    return 0


def make_secrets(folder: Path) -> list[str]:
    """Make the missing ones in ``folder``; gives their names. SetupError when it cannot be written."""
    made = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        values: Values = {}
        for name, make in CHOSEN.items():
            file = folder / name
            if not file.exists():
                _write(file, make())
                made.append(name)
            values[name] = file.read_text(encoding="utf-8")
        for name, derive in DERIVED.items():
            file, text = folder / name, derive(values)
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                _write(file, text)
                made.append(name)
    except OSError as error:
        raise SetupError(f"secrets cannot be written to {folder} ({error.strerror}); give another --folder") from error
    return made


def _write(file: Path, text: str) -> None:
    # Whole or not at all: half a secret would never be made again.
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.chmod(0o444)
    part.rename(file)


def _random() -> str:
    return secrets.token_hex(32)


def _key_id() -> str:
    return secrets.token_hex(10)


def _password() -> str:
    """SQL Server wants three kinds of characters."""
    return f"Aa1-{secrets.token_hex(16)}"


def _fernet() -> str:
    return base64.urlsafe_b64encode(os.urandom(32)).decode("ascii")


def _airflow_database(values: Values) -> str:
    return f"postgresql+psycopg2://airflow:{values['postgres_password']}@metadata/airflow"


def _superset_database(values: Values) -> str:
    return f"postgresql+psycopg2://airflow:{values['postgres_password']}@metadata/superset"


def _airflow_passwords(values: Values) -> str:
    return json.dumps({"admin": values["admin_password"]})


def _airflow_connections(values: Values) -> str:
    serving = {
        "conn_type": "mysql",
        "host": "mariadb",
        "port": 3306,
        "schema": "serving",
        "login": "lakehouse",
        "password": values["mariadb_password"],
    }
    return json.dumps({"lakehouse_serving": serving})


def _s3_server(values: Values) -> str:
    return f"ROOT_ACCESS_KEY_ID={values['s3_key_id']}\nROOT_SECRET_ACCESS_KEY={values['s3_key']}\n"


def _s3_keys_of(name: str) -> Callable[[Values], str]:
    """The file in which a client of S3 finds its own key."""
    return lambda values: (
        f"[default]\naws_access_key_id = {values[f'{name}_id']}\naws_secret_access_key = {values[name]}\n"
    )


def _s3_users(values: Values) -> str:
    """The accounts beside the server's own, as versitygw keeps them: their rights are in the bucket's policy."""
    accounts = {
        values[f"{name}_id"]: {"access": values[f"{name}_id"], "secret": values[name], "role": "user"}
        for name in ("s3_writer_key", "s3_reader_key")
    }
    return json.dumps({"accessAccounts": accounts})


def _s3_bucket_policy(values: Values) -> str:
    resources = [f"arn:aws:s3:::{BUCKET}", f"arn:aws:s3:::{BUCKET}/*"]
    allowed = {"s3_writer_key_id": [*READS, *WRITES], "s3_reader_key_id": [*READS]}
    statements = [
        {"Effect": "Allow", "Principal": {"AWS": [values[who]]}, "Action": actions, "Resource": resources}
        for who, actions in allowed.items()
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _spark_properties(values: Values) -> str:
    """Of master, workers and driver: a stranger that reaches one of their ports is refused; traffic is encrypted."""
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": values["spark_secret"],
        "spark.network.crypto.enabled": "true",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


CHOSEN: Mapping[str, Callable[[], str]] = {
    "admin_password": _password,
    "airflow_api": _random,
    "airflow_fernet_key": _fernet,
    "airflow_jwt": _random,
    "debezium_password": _password,
    "mariadb_password": _random,
    "mariadb_root_password": _password,
    "postgres_password": _random,
    "s3_key": _random,
    "s3_key_id": _key_id,
    "s3_reader_key": _random,
    "s3_reader_key_id": _key_id,
    "s3_writer_key": _random,
    "s3_writer_key_id": _key_id,
    "spark_secret": _random,
    "sqlserver_password": _password,
    "superset_key": _random,
}
"""Chosen once, by file name."""
DERIVED: Mapping[str, Callable[[Values], str]] = {
    "airflow_connections.json": _airflow_connections,
    "airflow_database_url": _airflow_database,
    "airflow_passwords.json": _airflow_passwords,
    "s3_bucket_policy.json": _s3_bucket_policy,
    "s3_credentials": _s3_keys_of("s3_writer_key"),
    "s3_reader_credentials": _s3_keys_of("s3_reader_key"),
    "s3_root_credentials": _s3_keys_of("s3_key"),
    "s3_server.env": _s3_server,
    "s3_users.json": _s3_users,
    "spark.properties": _spark_properties,
    "superset_database_url": _superset_database,
}
"""The same in the form in which one service reads it; follows what was chosen."""
