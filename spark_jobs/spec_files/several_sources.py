"""Words of a table's entry in a lake spec that are about several tables at the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Entries, Steps
from spark_jobs.lake_spec.table_sources import Sources, is_pattern, is_source_name, qualified
from spark_jobs.spec_files.documents import section, sequence

FROM = ("server", "database", "schema", "table")
_KEYS = ("default", "for")


def names_several(entry: Mapping[Any, Any]) -> bool:
    """True for an entry whose ``from`` may name several tables: by a list, or by a pattern."""
    named = entry.get("from")
    values = [named.get(word) for word in FROM] if isinstance(named, Mapping) else []
    return any(isinstance(value, list) or (isinstance(value, str) and is_pattern(value)) for value in values)


def sources_of(entry: Entries, what: str) -> Sources:
    """The tables at the source that an entry names; ContractError with the place of what is no name."""
    named = section(entry, "from", f"{what}: from")
    words = (*FROM, "except")
    _check_words(named, words, "from", what)
    names = {word: _names(named, word, ("from", word), what) for word in words}
    if missing := [word for word in ("database", "table") if not names[word]]:
        raise ContractError(f"{what}: from needs a {missing[0]}; give its name at the source", at=("from",))
    for word, listed in names.items():
        for name in listed:
            if not is_source_name(name):
                raise ContractError(f"{what}: {word} {show(name)} is no name; correct it", at=("from", word))
    schemas = schemas_of(names["server"], names["database"], names["schema"])
    return Sources(databases=schemas, tables=names["table"], excepted=names["except"])


def schemas_of(servers: tuple[str, ...], databases: tuple[str, ...], schemas: tuple[str, ...]) -> tuple[str, ...]:
    """The schemas that an entry names, qualified where it says more.

    With ``schema``, ``database`` is the one around it. Without, it is what the connector gives as schema (PostgreSQL,
    SQL Server) or as database (MySQL, MariaDB).
    """
    if not servers and not schemas:
        return databases
    around = [(database, schema) for database in databases for schema in schemas] or [("", each) for each in databases]
    return tuple(qualified(server, database, schema) for server in servers or ("",) for database, schema in around)


def keys_of(entry: Entries, what: str) -> dict[str, Any]:
    """The key of all tables that an entry finds, and those of single ones, as far as it says."""
    if "key" not in entry:
        return {}
    if not isinstance(entry["key"], Mapping):
        return {"key": _names(entry, "key", ("key",), what)}
    named = section(entry, "key", f"{what}: key")
    _check_words(named, _KEYS, "key", what)
    own = section(named, "for", f"{what}: key: for")
    keys = tuple((str(table), _names(own, table, ("key", "for", table), what)) for table in own)
    return {"key": _names(named, "default", ("key", "default"), what), "keys": keys}


def _check_words(named: Entries, known: tuple[str, ...], word: str, what: str) -> None:
    if unknown := sorted({*named} - {*known}, key=str):
        raise ContractError(f"{what}: {word} has {show(unknown[0])}; known are {[*known]}", at=(word, unknown[0]))


def _names(entry: Entries, word: Any, at: Steps, what: str) -> tuple[str, ...]:
    value = entry.get(word, [])
    names = [value] if isinstance(value, str) else sequence(value, f"{what}: {word}", at=at)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ContractError(f"{what}: {word} is {show(value)}; give names, each once", at=at)
    return tuple(names)
