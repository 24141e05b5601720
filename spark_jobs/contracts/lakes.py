"""Several lakes side by side: a folder of lake specs, one file a lake, and the settings of each.

``LAKEHOUSE_LAKES`` names the folder; ``<lake>.yaml`` in it is the spec of the lake that is called so. Every setting may
be given for one lake alone, as ``LAKEHOUSE_<SETTING>__<LAKE>``. A job is of one lake: what it reads are the variables
that :func:`lake_environment` gives, which are those of an installation with that lake alone.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.names import one_of, show, show_path
from spark_jobs.contracts.shipped import CHECKOUT

DEFAULT_LAKE = "sales"
"""The lake of a job that names none; its DAGs are called as they are where it is the only one."""
LAKES, LAKE, LAKE_SPEC = "LAKEHOUSE_LAKES", "LAKEHOUSE_LAKE", "LAKEHOUSE_LAKE_SPEC"
BASE_PATH, LANDING_PATH = "LAKEHOUSE_BASE_PATH", "LAKEHOUSE_LANDING_PATH"
PLACES: Mapping[str, str] = {BASE_PATH: "lake", LANDING_PATH: "landing"}
"""Where a lake is and where its files arrive, with the folder's name below the project's ``data/``."""
_OF_ONE_LAKE = ("CATALOG_DATABASE", "SERVING_URL", "JDBC_URL", "JDBC_USER", "JDBC_PASSWORD")
"""Settings that name something of one lake: without a lake's name they are those of the default lake, not of all."""
_BY_LAKE = re.compile(r"(LAKEHOUSE_[A-Z0-9]+(?:_[A-Z0-9]+)*)__([A-Z][A-Z0-9_]*)")


def lake_files(environment: Mapping[str, str]) -> dict[str, Path]:
    """The spec file of each lake by its name; {} where there is one lake alone.

    Raises:
        SettingsError: the folder cannot be read, or it has no spec.
    """
    if not environment.get(LAKES):
        return {}
    folder = Path(environment[LAKES]).absolute()
    try:
        files = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix == ".yaml" and path.name[0] != "."}
    except OSError as error:
        raise SettingsError(
            f"{LAKES}={show_path(folder)} cannot be read ({error.strerror}); set it to a folder of lake specs"
        ) from error
    if not files:
        raise SettingsError(f"{LAKES}={show_path(folder)} has no lake spec; put a file <lake>.yaml there")
    return files


def lake_environment(environment: Mapping[str, str], lake: str = "") -> Mapping[str, str]:
    """The variables of one lake's jobs, in which nothing of another lake is left.

    Without ``LAKEHOUSE_LAKES`` that is the environment as it is. ``lake`` is the lake's name; left out, it is the one
    in ``LAKEHOUSE_LAKE``, else the only one that there is, else the default lake.

    Raises:
        SettingsError: there is no such lake, or it would be where another one is.
    """
    files = lake_files(environment)
    if not files:
        if lake:
            raise SettingsError(
                f"lake {show(lake)} is one of several, and {LAKES} is not set; set it where jobs run too"
            )
        return environment
    name = lake or environment.get(LAKE) or (next(iter(files)) if len(files) == 1 else DEFAULT_LAKE)
    if name not in files:
        way = one_of(name, list(files)) if lake else f"{one_of(name, list(files))} as {LAKE}"
        raise SettingsError(f"{LAKES}={show_path(environment[LAKES])} has no lake {show(name)}; {way}")
    if not is_identifier(name):
        raise SettingsError(
            f"{show_path(files[name])}:1: a lake spec is called as its lake, of a-z, 0-9 and _; rename the file"
        )
    places = {variable: _places(environment, variable, list(files)) for variable in PLACES}
    _check_places(name, places)
    by_lake = {text: found.groups() for text in environment if (found := _BY_LAKE.fullmatch(text))}
    strange = {f"LAKEHOUSE_{setting}" for setting in _OF_ONE_LAKE if name != DEFAULT_LAKE}
    left_out = {*by_lake, *strange, LAKES, LAKE}
    own = {setting: environment[text] for text, (setting, of) in by_lake.items() if of == name.upper()}
    return {
        **{text: value for text, value in environment.items() if text not in left_out},
        **{setting: value for setting, value in own.items() if value},
        **{variable: of_lakes[name] for variable, of_lakes in places.items()},
        LAKE_SPEC: str(files[name]),
    }


def place_of(environment: Mapping[str, str], variable: str) -> str:
    """What ``variable`` says, else its default; SettingsError outside a project's folder, where there is none."""
    if place := environment.get(variable) or default_place(variable):
        return place
    raise SettingsError(f"{variable} is not set, and outside the project's folder it has no default; set it")


def default_place(variable: str) -> str:
    """Below the project's folder; "" outside of one: a lake is never put beside installed packages."""
    return str(CHECKOUT / "data" / PLACES[variable]) if CHECKOUT else ""


def variables_by_lake(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Variables that are of one lake, each with its setting and the lake's name, as ``("base_path", "shop")``."""
    found = {text: _BY_LAKE.fullmatch(text) for text in environment}
    return {
        text: (match.group(1).removeprefix("LAKEHOUSE_").lower(), match.group(2).lower())
        for text, match in found.items()
        if match
    }


def _places(environment: Mapping[str, str], variable: str, names: Sequence[str]) -> dict[str, str]:
    """Where each lake is: where its own variable says, else in a folder of its name."""
    given = {name: environment.get(f"{variable}__{name.upper()}") for name in names}
    root = "" if all(given.values()) else place_of(environment, variable).rstrip("/")
    return {name: place or f"{root}/{name}" for name, place in given.items()}


def _check_places(lake: str, places: Mapping[str, Mapping[str, str]]) -> None:
    """SettingsError when a lake would write where another one does, or would be read as a topic of another one.

    The default lake goes on where it is: of two lakes at one place it is the other one that is refused. A landing path
    may be shared, since each lake reads the topics of its spec.
    """
    if lake == DEFAULT_LAKE:
        return
    for variable, of_lakes in places.items():
        own = _normal(of_lakes[lake])
        for other, path in of_lakes.items():
            is_shared = variable == LANDING_PATH and own == _normal(path)
            if other != lake and not is_shared and _is_within_either(own, _normal(path)):
                raise SettingsError(
                    f"lake {lake}: its place {show_path(of_lakes[lake])} and that of lake {show(other)}, "
                    f"{show_path(path)}, are one or inside each other; set {variable}__{lake.upper()} to a folder of "
                    f"its own"
                )


def _normal(path: str) -> str:
    """One text for one place, however it is written."""
    if "://" in path and not path.startswith("file://"):
        scheme, _, rest = path.partition("://")
        parts = [part for part in rest.split("/") if part]
        return f"{'s3a' if scheme == 's3' else scheme}://{'/'.join(parts)}"
    return os.path.realpath(path.removeprefix("file://"))


def _is_within_either(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other.rstrip('/')}/") or f"{other}/".startswith(f"{one.rstrip('/')}/")
