"""What a driver elsewhere is sent: the library with the lake's files in one zip, and the settings that it may see."""

from __future__ import annotations

import os.path
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PREFIX, PROJECT_ROOT, Settings, shipped_defaults
from spark_jobs.contracts.shipped import FOLDER
from spark_jobs.contracts.task_runs import TASK_VARIABLES
from spark_jobs.job_options.registry import LOCAL_JOBS
from spark_jobs.spec_files.documents import read_document

ENTRYPOINT = PROJECT_ROOT / "spark_jobs" / "entrypoint.py"
AWS_PLACES = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
"""Where S3 is, for drivers and executors; who they are is for the engine to say."""
_OF_THIS_MACHINE = {"spark_remote", "spark_master", "jars_path", "driver_memory"}
_OF_JOBS = tuple(
    part
    for job, package in LOCAL_JOBS.items()
    for part in (f"spark_jobs/{package}/", f"spark_jobs/jobs/{job}.py", f"spark_jobs/job_options/{job}.py")
)
_LEFT_OUT = ("spark_jobs/command/", *_OF_JOBS)
_SPEC = "lake_spec"
_FOLDERS = ("marts", "expectations")
"""Entries of the lake spec that name a folder beside it."""


def build_library_zip(path: Path, settings: Settings) -> Path:
    """Zip the package ``spark_jobs`` and the lake's files for ``--py-files``; the same content gives the same bytes.

    ``LOCAL_JOBS`` and their packages are left out, and the command that people type.

    The files that ``settings`` name are put where the defaults look for them (:mod:`spark_jobs.contracts.shipped`).
    """
    modules = {str(file.relative_to(PROJECT_ROOT)): file for file in (PROJECT_ROOT / "spark_jobs").rglob("*.py")}
    library = {name: file for name, file in modules.items() if not name.startswith(_LEFT_OUT)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted({**library, **dict(_lake_files(settings))}.items()):
            archive.writestr(zipfile.ZipInfo(name), source.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def _lake_files(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Names in the zip and the files of the lake: its spec, marts, expectations, rules and SQL."""
    places = shipped_defaults()
    for name, place in places.items():
        yield from _files_of(Path(getattr(settings, name)), str(place))
    spec = Path(settings.lake_spec)
    document = read_document(spec, what="lake spec", then="correct it or set LAKEHOUSE_LAKE_SPEC")
    for name in _FOLDERS if isinstance(document, Mapping) else ():
        if isinstance(folder := document.get(name), str):  # else the job refuses the spec, with its own words
            yield from _files_of(spec.parent / folder, _place(folder, name, spec, places[_SPEC].parent))


def _place(folder: str, name: str, spec: Path, parent: Path) -> str:
    """Where a folder of the spec's is in the zip: beside the spec as it is here."""
    place = os.path.normpath(str(parent / folder))
    if not place.startswith(f"{FOLDER}/"):
        raise SettingsError(f"lake spec {spec}: {name} {folder!r} is too far away to be sent along; give ../{name}")
    return place


def _files_of(source: Path, place: str) -> Iterator[tuple[str, Path]]:
    if source.is_file():
        yield place, source
    for file in source.rglob("*"):
        if file.suffix in (".yaml", ".sql"):
            yield f"{place}/{file.relative_to(source)}", file


def explicit_paths(environment: Mapping[str, str]) -> dict[str, str]:
    """Paths that default to the project, named: for a driver on this machine that imports the library from the zip."""
    settings = Settings.from_environment(environment)
    names = [field.name for field in fields(Settings) if field.name.endswith(("_path", "_spec"))]
    return {f"{PREFIX}{name.upper()}": str(getattr(settings, name)) for name in names}


def remote_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables of a driver elsewhere: the settings that were set, but for secrets and what is of this machine.

    With them goes the task that it works for, which its commits name.
    """
    settings, kept = Settings.from_environment(environment), {"base_path", "landing_path"}
    names = [field.name for field in fields(Settings) if field.repr]
    sent = {
        f"{PREFIX}{name.upper()}": str(getattr(settings, name))
        for name in names
        if (name in kept or environment.get(f"{PREFIX}{name.upper()}"))
        and name not in {*shipped_defaults(), *_OF_THIS_MACHINE}
    }
    task = {name: environment[name] for name in TASK_VARIABLES.values() if environment.get(name)}
    return {**sent, **aws_places(environment), **task, "TZ": "UTC", "PYTHONUNBUFFERED": "1"}


def aws_places(environment: Mapping[str, str]) -> dict[str, str]:
    """Where S3 is, as far as the environment says so."""
    return {name: environment[name] for name in AWS_PLACES if environment.get(name)}
