"""The bill of materials: every Python package of the locks and every jar, each with the day it was released.

`make lock` writes ``sbom.json`` (CycloneDX 1.6). Days of packages are those that the index gives to uv, with the newest
version that our wishes allow; days of jars are in the jars. No rule about it uses a clock: a pin is as old as it is on
the day that the list itself names, so that a commit which was right stays right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.install.jars import BENCH_JARS, RUN_JARS, YARN_JARS, JarSet, jar_name, read_lock
from local_stack.install.kafka_jars import KAFKA_JARS
from local_stack.layout import PROJECT_ROOT, VENV

FILE = PROJECT_ROOT / "sbom.json"
REASONS = Path(__file__).with_name("old_pins.yaml")
LOCKS = {
    "requirements.txt": "requirements.in",
    "requirements-dev.txt": "requirements-dev.in",
    "requirements-trino.txt": "requirements-trino.in",
    "include/docker/superset/requirements.txt": "include/docker/superset/requirements.in",
}
JAR_SETS = (RUN_JARS, BENCH_JARS, YARN_JARS, KAFKA_JARS)
MOST_DAYS = 730
"""How old a pin may be on the day of the list, unless it is the newest that is allowed, or a reason is given."""
_FIRST_YEAR, _NO_DAYS = 1995, {(2010, 1, 1)}
"""Entries of jars that are built to be the same every time have a day of before Java, or this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One package or jar. ``newest`` is the newest version that is allowed, "" where it is unknown."""

    kind: str
    name: str
    version: str
    places: tuple[str, ...]
    released: date | None = None
    newest: str = ""
    sha256: str = ""

    @property
    def purl(self) -> str:
        """Its name for programs that know of vulnerabilities."""
        return f"pkg:{self.kind}/{self.name.replace(':', '/')}@{self.version}"


def run(argv: list[str]) -> int:
    """Write the list again, as of today."""
    argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack sbom", description=__doc__).parse_args(argv)
    components = [*packages(), *jars(earlier=read(FILE)[1] if FILE.exists() else ())]
    write(components, day=datetime.now(UTC).date())
    say(f"sbom: {len(components)} packages and jars in {FILE.name}")
    for line in too_old(components, day=datetime.now(UTC).date(), reasons=read_reasons()):
        say(f"sbom: {line}")
    return 0


def packages(root: Path = PROJECT_ROOT) -> list[Component]:
    """Those of all locks, with what the index says of them now. SetupError when it does not answer."""
    found: dict[tuple[str, str], Component] = {}
    for lock, wishes in LOCKS.items():
        newest = {each["name"]: each["version"] for each in _query_index(root, wishes, "--upgrade")}
        for each in _query_index(root, lock, "--no-deps"):
            key = (each["name"], each["version"])
            before = found.get(key)
            component = before or Component(kind="pypi", name=key[0], version=key[1], places=(), released=_day(each))
            found[key] = replace(
                component,
                places=(*component.places, lock),
                newest=component.newest or newest.get(key[0], key[1]),
            )
    return list(found.values())


def jars(*, earlier: Sequence[Component] = ()) -> list[Component]:
    """Those of ``jars.lock``. A jar that is not on this machine keeps the day that it had in an earlier list."""
    locked, known = read_lock(), {(each.name, each.version): each.released for each in earlier if each.kind == "maven"}
    found: dict[tuple[str, str], Component] = {}
    for jar_set, coordinate in _coordinates(JAR_SETS):
        group, artifact, version = coordinate.split(":")
        file = jar_set.folder / jar_name(coordinate)
        key = (f"{group}:{artifact}", version)
        day = built_on(file) if file.is_file() else known.get(key)
        place, before = jar_set.folder.name, found.get(key)
        found[key] = Component(
            kind="maven",
            name=key[0],
            version=version,
            places=(*(before.places if before else ()), place),
            released=day or (before.released if before else None),
            sha256=locked[f"{place}/{file.name}"],
        )
    return list(found.values())


def built_on(jar: Path) -> date | None:
    """The newest day among a jar's entries; None for one that is built to be the same on every day."""
    with zipfile.ZipFile(jar) as archive:
        days = [entry.date_time[:3] for entry in archive.infolist()]
    newest = max(days, default=(0, 0, 0))
    return None if newest[0] < _FIRST_YEAR or newest in _NO_DAYS else date(*newest)


def too_old(components: Sequence[Component], *, day: date, reasons: Mapping[str, str]) -> list[str]:
    """What is wrong with the ages of pins on ``day``: one sentence each, and for each reason that nothing needs.

    Reasons are by patterns of ``kind/name`` (``maven/org.apache.hadoop:*``).
    """
    wrong, used = list[str](), set[str]()
    for each in components:
        if (sentence := _age(each, day)) is None:
            continue
        patterns = {pattern for pattern in reasons if fnmatchcase(f"{each.kind}/{each.name}", pattern)}
        used |= patterns
        if not patterns:
            wrong.append(sentence)
    return [*wrong, *(f"nothing needs the reason for {name!r}; take it out" for name in sorted({*reasons} - used))]


def read(file: Path = FILE) -> tuple[date, list[Component]]:
    """The day of a list, and what is in it."""
    document = json.loads(file.read_text(encoding="utf-8"))
    day = date.fromisoformat(document["metadata"]["timestamp"][:10])
    return day, [_parse(each) for each in document["components"]]


def write(components: Sequence[Component], *, day: date, file: Path = FILE) -> None:
    """Write the list: a line for each component, so that a change is a line."""
    head = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": f"{day}T00:00:00Z",
            "component": {"type": "application", "bom-ref": "sales-lakehouse", "name": "sales-lakehouse"},
        },
    }
    lines = [json.dumps(_format(each)) for each in sorted(components, key=lambda each: each.purl)]
    text = json.dumps(head, indent=2).removesuffix("\n}")
    file.write_text(f'{text},\n  "components": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n", encoding="utf-8")


def read_reasons(file: Path = REASONS) -> dict[str, str]:
    """Why pins may be old, by patterns of ``kind/name``."""
    found: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def _age(component: Component, day: date) -> str | None:
    """Says that a pin is too old, or of an unknown age; None when it is all right."""
    name = f"{component.name} {component.version}"
    if component.version == component.newest:
        return None
    if component.released is None:
        return f"{name} has no day in it; give a reason in {REASONS.name}, or take a version that has one"
    if (days := (day - component.released).days) <= MOST_DAYS:
        return None
    newer = f"make lock UPGRADE=--upgrade takes {component.newest}" if component.newest else "take a newer one"
    return f"{name} is {days} days old, {MOST_DAYS} at most: {newer}, or give a reason in {REASONS.name}"


def _query_index(root: Path, file: str, option: str) -> list[dict[str, Any]]:
    """What uv finds for a file of requirements, as a lock that has days (PEP 751)."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "pylock.toml"
        command = [str(VENV / "bin" / "uv"), "pip", "compile", "--quiet", option, "--python-version", "3.11"]
        command += ["--python-platform", "linux", "--format", "pylock.toml", "--output-file", str(made), file]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"uv cannot resolve {file}: {done.stderr.strip()[-300:]}; check the network, try again")
        found: list[dict[str, Any]] = tomllib.loads(made.read_text(encoding="utf-8"))["packages"]
    return found


def _day(package: Mapping[str, Any]) -> date | None:
    """The day on which the first file of a version was there."""
    files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
    return min((file["upload-time"].date() for file in files if "upload-time" in file), default=None)


def _coordinates(jar_sets: Sequence[JarSet]) -> Iterator[tuple[JarSet, str]]:
    for jar_set in jar_sets:
        yield from ((jar_set, coordinate) for coordinate in (*jar_set.coordinates, *jar_set.apart))


def _format(component: Component) -> dict[str, Any]:
    properties = {"released": component.released and str(component.released), "newest": component.newest}
    named = [{"name": f"lakehouse:{name}", "value": value} for name, value in properties.items() if value]
    named += [{"name": "lakehouse:place", "value": place} for place in component.places]
    hashes = {"hashes": [{"alg": "SHA-256", "content": component.sha256}]} if component.sha256 else {}
    facts = {"type": "library", "bom-ref": component.purl, "name": component.name, "version": component.version}
    return {**facts, "purl": component.purl, **hashes, "properties": named}


def _parse(entry: Mapping[str, Any]) -> Component:
    properties = [(each["name"].removeprefix("lakehouse:"), each["value"]) for each in entry["properties"]]
    values = dict(properties)
    return Component(
        kind=entry["purl"].removeprefix("pkg:").partition("/")[0],
        name=entry["name"],
        version=entry["version"],
        places=tuple(value for name, value in properties if name == "place"),
        released=date.fromisoformat(values["released"]) if "released" in values else None,
        newest=values.get("newest", ""),
        sha256=entry["hashes"][0]["content"] if "hashes" in entry else "",
    )
