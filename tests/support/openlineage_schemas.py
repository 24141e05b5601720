"""Events of OpenLineage against the schemas that it publishes (tests/data/openlineage), with those of their facets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

_FOLDER = Path(__file__).parents[1] / "data" / "openlineage"
_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
_FORMATS = FormatChecker()


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@_FORMATS.checks("uri", raises=ValueError)
def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme)


def problems_of(event: dict[str, Any]) -> list[str]:
    """What its schema, and the one that each of its facets names, have against an event; one line each."""
    return [*_mistakes("event", event, f"{_EVENT}#/$defs/RunEvent"), *_of_facets(event)]


def _of_facets(event: dict[str, Any]) -> Iterator[str]:
    """A facet is of the schema that it names, below the name that the same document gives it."""
    for place, facets in _facets_of(event):
        for name, facet in facets.items():
            schema = str(facet.get("_schemaURL", ""))
            document = schema.partition("#")[0]
            if document not in _documents() or document == _EVENT:
                yield f"{place}.{name}: {schema or 'a facet without a schema'} is not in {_FOLDER.name}"
            elif _documents()[document]["properties"].get(name, {}).get("$ref") != f"#{schema.partition('#')[2]}":
                yield f"{place}.{name}: {schema} is not the schema of a facet of this name"
            else:
                yield from _mistakes(f"{place}.{name}", facet, schema)


def _facets_of(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in ("run", "job"):
        yield part, event[part].get("facets", {})
    for side in ("input", "output"):
        for dataset in event.get(f"{side}s", ()):
            yield f"{side} {dataset['name']}", dataset.get("facets", {})
            yield f"{side} {dataset['name']}", dataset.get(f"{side}Facets", {})


def _mistakes(place: str, value: object, schema: str) -> Iterator[str]:
    found = Draft202012Validator({"$ref": schema}, registry=_registry(), format_checker=_FORMATS)
    for error in found.iter_errors(value):
        yield f"{place}{error.json_path.removeprefix('$')}: {error.message}"


@cache
def _documents() -> dict[str, dict[str, Any]]:
    read = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(_FOLDER.glob("*.json"))]
    return {document["$id"]: document for document in read}


@cache
def _registry() -> Registry[Any]:
    return Registry().with_resources((name, Resource.from_contents(each)) for name, each in _documents().items())
