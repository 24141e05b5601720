"""Superset's settings: secrets come from files, its own things go to the database `superset` of the metadata server."""

from __future__ import annotations

import os
from pathlib import Path

import pymysql

# Superset knows MySQL's column types by another driver's module, whose parts PyMySQL has under the same names.
pymysql.install_as_MySQLdb()


def read_secret(name: str) -> str:
    """The text of one secret."""
    return (Path(os.environ.get("LAKEHOUSE_SECRETS_PATH", "/run/secrets")) / name).read_text(encoding="utf-8").strip()


SECRET_KEY = read_secret("superset_key")
SQLALCHEMY_DATABASE_URI = read_secret("superset_database_url")
SQLLAB_TIMEOUT = 120
ROW_LIMIT = 50_000
