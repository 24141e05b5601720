"""Read a lake spec from YAML into the frozen classes of :mod:`spark_jobs.lake_spec.specs`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.places import Entries, Items
from spark_jobs.lake_spec.expectations import Expectation, QuarantineLimit
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.lake_spec.loads import LoadSpec
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.people import Naming, PersonSpec
from spark_jobs.lake_spec.quality import QualitySpec
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.spec_mistakes import mistakes_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import TablePattern
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.spec_files.comments import read_comments
from spark_jobs.spec_files.documents import build, mapping, section, wrong_entries
from spark_jobs.spec_files.lake_files import LakeFiles, read_lake_files
from spark_jobs.spec_files.mistakes import Mistakes
from spark_jobs.spec_files.old_words import gather_tables
from spark_jobs.spec_files.source_entry import find_source
from spark_jobs.spec_files.table_entries import entry_of

# Fields of a lake that come from other entries: what a file writes under their names would be silently replaced.
_MADE = {
    "patterns": "write each as an entry of tables whose from has patterns",
    "table_services": "write it under services, in tables",
    "notices": "take it out",
    "unresolved": "take it out",
}
_SECTIONS = {"quarantine_limit": QuarantineLimit, "freshness": FreshnessPromise, "quality": QualitySpec}


def load_lake_spec(path: str) -> LakeSpec:
    """Read the spec file and the marts it names.

    Raises:
        SettingsError: a file cannot be read.
        ContractError: it contradicts itself; the message has the place of the first mistake.
    """
    found = Mistakes()
    files = read_lake_files(Path(path), found)
    return found.checked(find_lake(files, found) if files else None, "lake spec", path)


def parse_lake_spec(
    document: Any, marts: tuple[MartSpec, ...] = (), expectations: tuple[Expectation, ...] = ()
) -> LakeSpec:
    """Build a :class:`LakeSpec` from the parsed document; ContractError for unknown, missing or wrong entries."""
    found = Mistakes()
    files = LakeFiles(document=mapping(document, "the file"), marts=marts, expectations=expectations)
    return found.checked(find_lake(files, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLake(LakeSpec):
    """A lake that may contradict itself, so that all contradictions can be reported."""

    def __post_init__(self) -> None:
        self._arrange()


def find_lake(files: LakeFiles, found: Mistakes) -> LakeSpec:
    """The lake; when something is wrong with it, which is added to ``found``, a :class:`DraftLake` of what is right.

    Each entry is built on its own, and what can be built is then looked at as a whole.
    """
    document = files.document
    parts: dict[str, Any] = {"source": find_source(document, found)}
    entries, parts["notices"] = gather_tables(document, found)
    made, items = found.each("tables", entries, entry_of)
    parts["tables"], tables = _of_kind(made, items, TableSpec)
    parts["patterns"], patterns = _of_kind(made, items, TablePattern)
    parts["loads"], loads = _of_kind(made, items, LoadSpec)
    kept = document.holding("tables", tables).holding("patterns", patterns).holding("loads", loads)
    for name, cls in _SECTIONS.items():
        with found.of(document):
            parts[name] = build(cls, section(document, name, name), name)
    parts["people"] = _people(document, found)
    parts["services"], parts["table_services"] = _services(document, found)
    parts |= read_comments(document, found, "lake")
    parts["marts"], parts["expectations"] = files.marts, files.expectations
    values = _usable(document.without("tables", "mirrors", "loads", *_SECTIONS).having(parts), document, found)
    draft = DraftLake(**values)
    for error in mistakes_of(draft):
        found.add(error, kept)
    return draft if found.errors else LakeSpec(**values)


def _of_kind(made: tuple[Any, ...], items: Items, kind: type[Any]) -> tuple[tuple[Any, ...], Items]:
    """Those of the tables that are of a kind, and their entries."""
    kept, entries = list[Any](), Items(place=items.place)
    for number, each in enumerate(made):
        if isinstance(each, kind):
            if number in items.places:
                entries.places[len(kept)] = items.places[number]
            kept.append(each)
            entries.append(items[number])
    return tuple(kept), entries


def _usable(values: Entries, document: Entries, found: Mistakes) -> dict[str, Any]:
    """The values that a lake can be made of; others are reported, and replaced where the lake needs them."""
    for name, way in _MADE.items():
        if name in document:
            found.add(ContractError(f"lake: {name!r} is no entry of its own; {way}", at=(name,)), document)
    wrong = list(wrong_entries(LakeSpec, values, "lake", document))
    for error in wrong:
        found.add(error, values)
    usable = values.without(*(error.at[0] for error in wrong if error.at))
    if not all(is_identifier(usable.get(name)) for name in ("log", "quarantine")):
        found.leave_out("tables")  # its name is not known
    return {**{name: f"the_{name}" for name in ("lake", "log", "quarantine")}, **usable}


def _services(document: Entries, found: Mistakes) -> tuple[ServiceTargets, tuple[tuple[str, ServiceTargets], ...]]:
    """What is wanted for all tables, and of those that want something else: what they do not say is as for all."""
    targets, for_all, of_tables = ServiceTargets(), Entries(), list[tuple[str, ServiceTargets]]()
    with found.of(document):
        entry = section(document, "services", "services")
        with found.of(entry):
            targets = build(ServiceTargets, entry.without("tables"), "services")
            for_all = entry.without("tables")  # what is wrong there is not wrong of every table
        own = section(entry, "tables", "services: tables")
        for name in own:
            with found.of(own):
                values = section(own, name, what := f"services of {plain(name)}")
                of_tables.append((name, build(ServiceTargets, values.having({**for_all, **values}), what)))
    return targets, tuple(of_tables)


def _namings(entry: Entries, what: str) -> tuple[tuple[str, Naming], ...]:
    """The tables below ``tables`` of people, with the columns by which each names them."""
    tables, made = section(entry, "tables", f"{what}: tables"), list[tuple[str, Naming]]()
    for table in tables:
        named = section(tables, table, of := f"{what}: {plain(table)}")
        made.append((str(table), build(Naming, named.having({"key": named.get("key", "")}), of)))
    return tuple(made)


def _people(document: Entries, found: Mistakes) -> tuple[PersonSpec, ...]:
    made = list[PersonSpec]()
    with found.of(document):
        people = section(document, "people", "people")
        for role in people:
            with found.of(people):
                entry = section(people, role, what := f"people: {plain(role)}")
                parts: dict[str, Any] = {"role": role}
                if "tables" in entry:
                    parts["tables"] = _namings(entry, what)
                made.append(build(PersonSpec, entry.having(parts), what))
    return tuple(made)
