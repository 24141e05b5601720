"""The dashboards of include/superset as the ZIP that Superset's *Import dashboard* takes."""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT

if TYPE_CHECKING:
    from sqlalchemy import URL

FOLDER = PROJECT_ROOT / "include" / "superset"
DATABASE = "databases/serving_store.yaml"
ROOT = "dashboards"
"""The folder in the ZIP: Superset leaves the first part of each path out."""
PASSWORD_MASK = "XXXXXXXXXX"
"""In place of a password: Superset asks for it when it imports."""
_DAY = (1980, 1, 1, 0, 0, 0)
"""The same files are the same ZIP."""


def run(argv: list[str]) -> int:
    """Write the ZIP."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack dashboards", description=__doc__)
    parser.add_argument(
        "--address",
        required=True,
        metavar="URI",
        help="where Superset finds the serving store, as it writes it: postgresql://reader@db.example:5432/dashboards; "
        "without the password, which Superset asks for",
    )
    parser.add_argument("--output", type=Path, default=Path("dashboards.zip"), metavar="FILE", help="%(default)s")
    options = parser.parse_args(argv)
    contents = read_export(with_masked_password(options.address))
    try:
        write_zip(contents, options.output)
    except OSError as error:
        raise SetupError(f"{options.output} cannot be written ({error.strerror}); name another --output") from error
    say(f"dashboards: {len(contents)} files in {options.output}")
    return 0


def read_export(address: str, folder: Path = FOLDER) -> dict[str, str]:
    """Text of the files by their path in the export; ``address`` is that of the serving store."""
    contents = {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in folder.rglob("*.yaml")}
    database = yaml.safe_load(contents[DATABASE]) | {"sqlalchemy_uri": address}
    contents[DATABASE] = yaml.safe_dump(database, sort_keys=False, width=1000)
    return contents


def with_masked_password(address: str) -> str:
    """The address so that Superset asks for the password of its user; SetupError when it has one, or is none."""
    url = _parse(address)
    if url.password:
        raise SetupError("--address has a password, which would be in the ZIP; leave it out, Superset asks for it")
    return (url.set(password=PASSWORD_MASK) if url.username else url).render_as_string(hide_password=False)


def write_zip(contents: dict[str, str], file: Path) -> None:
    """Write the export; the same contents give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            archive.writestr(zipfile.ZipInfo(f"{ROOT}/{name}", _DAY), contents[name])


def _parse(address: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise SetupError("--address is no URI; give one such as postgresql://reader@db.example/dashboards") from None
    if not url.database:
        raise SetupError("--address names no database; end it with /<database>")
    return url
