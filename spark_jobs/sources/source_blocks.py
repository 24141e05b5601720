"""What the source block of an event says of its table: how its rows are read, and where they come from.

Blocks that name the same connector, server, database, schema and table say the same, so it is found out once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spark_jobs.connectors.events import Connector
from spark_jobs.connectors.registry import connector_of
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.rejections import OtherTableError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import NewTables
from spark_jobs.lake_spec.table_sources import matches
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.sources.mirrored import MirrorReader
from spark_jobs.sources.positions import Origin, build_origin, names_in, origin_key

_MOST_TABLES = 1_000
_NAMES = frozenset({str, type(None)})


@dataclass(slots=True, kw_only=True)
class EventTable:
    """The table of events.

    Attributes:
        connector: the name in the block.
        of: what is known of that connector.
        key: what names the table.
        reader: reads rows of a mirrored table; None for a table of the wide log.
        learns_key: the key of the mirrored table is what its records say.
        other: what a table that the lake does not take is called; None for one that it takes.
    """

    connector: str
    of: Connector
    key: tuple[str, ...]
    reader: MirrorReader | None = None
    learns_key: bool = False
    other: str | None = None
    _origin: Origin | None = None

    @property
    def origin(self) -> Origin:
        """RejectedRecordError when what names the table are no names."""
        if self._origin is None:
            self._origin = build_origin(self.key)
        return self._origin


class EventTables:
    """Finds the table of an event by its source block."""

    def __init__(self, spec: LakeSpec) -> None:
        self._spec, self._has_columns, self._wide = spec, bool(spec.source.columns), spec.source.tables
        self._ways, self._wide_ways = spec.ways, spec.source.ways
        self._mirrors = dict[str, list[TableSpec]]()
        for mirror in spec.mirrors:
            for origin in () if mirror.shards else mirror.origins:
                self._mirrors.setdefault(origin, []).append(mirror)
        self._shards = [mirror for mirror in spec.mirrors if mirror.shards]
        self._has_mirrors = bool(spec.mirrors or spec.patterns)
        self._readers: dict[str, tuple[MirrorReader | None, bool]] = {}
        self._known: dict[tuple[Any, ...], EventTable] = {}

    def find(self, source: dict[str, Any]) -> EventTable:
        """The table that a source block names; OtherTableError for one that the lake does not take."""
        get = source.get
        block = get("connector"), get("name", ""), get("db", ""), get("schema", ""), get("table", "")
        try:
            table = self._known.get(block)
        except TypeError:  # lists and objects in place of names
            table = self._look_up(source)
        if table is None:
            table = self._look_up(source)
            if {*map(type, block)} <= _NAMES:  # other values may be equal and have other texts
                if len(self._known) >= _MOST_TABLES:
                    self._known.clear()
                self._known[block] = table
        if table.other is not None:
            raise OtherTableError(table.other)
        return table

    def _look_up(self, source: dict[str, Any]) -> EventTable:
        """The table as a mirrored table's or as the wide log's; one that is neither is another one."""
        connector = str(source.get("connector"))
        table = EventTable(connector=connector, of=connector_of(connector), key=origin_key(source, connector))
        names = names_in(source, connector, self._ways) if self._has_mirrors or self._wide else ("",)
        try:
            for name in names if self._has_mirrors else ():
                table.reader, table.learns_key = self._reader(name)
                if table.reader:
                    return table
        except OtherTableError as error:
            table.other = error.table
            return table
        wide = names if len(self._wide_ways) == 1 else (*names, *names_in(source, connector, self._wide_ways))
        # An event that names no table is broken, or of an unknown connector: it is looked at.
        is_wide = names[-1].endswith(".") or any(matches(name, self._wide) for name in wide)
        if not (self._has_columns and is_wide):
            table.other = plain(names[-1])
        return table

    def _reader(self, origin: str) -> tuple[MirrorReader | None, bool]:
        """How rows of a table at the source are read, and whether its key is learnt; None where no table is made of it.

        OtherTableError: the lake ignores it.
        """
        if origin not in self._readers:
            mirrors = [*self._mirrors.get(origin, ()), *(each for each in self._shards if each.is_from(origin))]
            learns = False
            if pattern := self._spec.pattern_of(origin):
                if not mirrors and pattern.new_tables is NewTables.IGNORE:
                    raise OtherTableError("")
                learns = not pattern.key_of(origin)
                mirrors = mirrors or [pattern.like]
            placeholder = self._spec.source.placeholder
            if len(self._readers) >= _MOST_TABLES:
                self._readers.clear()
            reader = MirrorReader(origin, mirrors, placeholder=placeholder) if mirrors else None
            self._readers[origin] = reader, learns
        return self._readers[origin]
