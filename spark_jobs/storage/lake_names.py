"""Whether the base path is the lake that the settings mean: by the file that ``init`` puts there.

Lakes of earlier releases have no such file. One of them is given its name by the first job that writes it, where its
tables show that it is this lake; where they do not, a person says so.
"""

from __future__ import annotations

import logging

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.lake_names import (
    NAME_FILE,
    LakeName,
    NoLakeError,
    NoLandingError,
    NotEmptyError,
    OtherLakeError,
    UnnamedLakeError,
    doubt_about,
)
from spark_jobs.contracts.names import show_path
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.undeclared_tables import declared_tables, table_folders

log = logging.getLogger(__name__)


def open_lake(lake: str, settings: Settings, *, may_name: bool) -> None:
    """Return when the base path is that of ``lake``.

    Args:
        lake: the name that the lake spec has.
        settings: where the lake is to be.
        may_name: give a lake of an earlier release its name, when there is no doubt about it.

    Raises:
        NoLakeError: there is no lake.
        OtherLakeError: it is another one.
        UnnamedLakeError: it may be another one, and has no name.
    """
    if has_name(lake, settings):
        return
    files = Filesystem(settings.base_path)
    if not table_folders(files):
        raise NoLakeError(base_path=settings.base_path)
    if doubt := find_doubt(settings):
        raise UnnamedLakeError(base_path=settings.base_path, lake=lake, why=doubt)
    if may_name:
        write_name(lake, settings)
        log.info("the lake at %s has its name from now on: %s", settings.base_path, lake)


def make_lake(lake: str, settings: Settings, *, may_adopt: bool) -> bool:
    """Make a new lake at the base path, or give its name to one that has none; False when it has it already.

    ``may_adopt``: also where other things are, or tables that do not show whose they are.

    Raises:
        OtherLakeError: there is another lake.
        UnnamedLakeError: there are tables, and they may be of another lake.
        NotEmptyError: there is something else.
    """
    if has_name(lake, settings):
        return False
    files = Filesystem(settings.base_path)
    if not may_adopt and table_folders(files):
        if doubt := find_doubt(settings):
            raise UnnamedLakeError(base_path=settings.base_path, lake=lake, why=doubt)
    elif not may_adopt and (others := _others(files, Filesystem(settings.landing_path))):
        raise NotEmptyError(base_path=settings.base_path, found=others)
    write_name(lake, settings)
    return True


def has_name(lake: str, settings: Settings) -> bool:
    """True when the lake at the base path is called so, False when nothing there has a name.

    Raises:
        OtherLakeError: it has another name.
    """
    files = Filesystem(settings.base_path)
    try:
        text = files.read(NAME_FILE) if files.find_file(NAME_FILE) else None
    except PermissionError as error:
        raise SettingsError(
            f"cannot read {show_path(settings.base_path)}/{NAME_FILE} (no permission); give the user read access or "
            f"correct LAKEHOUSE_BASE_PATH"
        ) from error
    if text is None:
        return False
    found = LakeName.from_json(text, base_path=settings.base_path)
    if found.lake != lake:
        raise OtherLakeError(base_path=settings.base_path, found=found.lake, lake=lake, spec_path=settings.lake_spec)
    return True


def write_name(lake: str, settings: Settings) -> None:
    """Write down which lake is at the base path."""
    Filesystem(settings.base_path).write(NAME_FILE, LakeName(lake=lake).to_json().encode())


def find_doubt(settings: Settings) -> str:
    """Why the tables at the base path may be those of another lake than the lake spec's; "" when they are its own."""
    spec = read_lake_spec(settings)
    log_timeline = Timeline(table=spec.log, path=settings.table_path(spec.log))
    return doubt_about(
        tables=table_folders(Filesystem(settings.base_path)),
        declared=declared_tables(spec),
        log=spec.log,
        log_says=log_timeline.properties.get("hoodie.table.name") if log_timeline.exists else None,
        spec_path=settings.lake_spec,
    )


def check_landing(settings: Settings) -> None:
    """Raise NoLandingError when events are to come as files alone, and there is no folder to which they come."""
    if not settings.kafka_servers and not Filesystem(settings.landing_path).has_folder():
        raise NoLandingError(landing_path=settings.landing_path)


def make_landing(settings: Settings) -> bool:
    """Make the landing folder; False when it is there already."""
    files = Filesystem(settings.landing_path)
    if files.has_folder():
        return False
    files.make_folder("")
    return True


def _others(files: Filesystem, landing: Filesystem) -> list[str]:
    """What is at the base path besides the landing folder; names that begin with a dot may be of any program."""
    inside = landing.root.removeprefix(f"{files.root.rstrip('/')}/")
    own = inside.split("/")[0] if inside != landing.root else ""
    names = [*files.folders(), *(entry.path.rsplit("/", 1)[-1] for entry in files.list_files())]
    return sorted(name for name in names if name != own and not name.startswith("."))
