"""The business's views: ``<folder>/<layer>/<view>.sql``, one SELECT each over tables and views by their own names.

One text for every engine: it may use what Spark, Trino and Athena write alike, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import plain, show_path
from spark_jobs.sql_analysis.mart_sql_text import fill_time_zone, replace_tables
from spark_jobs.sql_analysis.portable_sql import names_read, parse_portable


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSpec:
    """One view; ``reads`` are the tables and views it is made of."""

    name: str
    layer: str
    text: str
    reads: frozenset[str]

    def sql(self, names: Mapping[str, str]) -> str:
        """The SELECT over other names of what it reads; ContractError when one of them is not given."""
        return replace_tables(fill_time_zone(self.text, "UTC"), names)


def load_views(folder: Path) -> tuple[ViewSpec, ...]:
    """Every view below ``folder``, each after those it reads.

    Raises:
        ContractError: a file is no single SELECT, or is not written alike for every engine; two have one name; some
            read each other in a circle.
    """
    views: dict[str, ViewSpec] = {}
    for file in sorted(folder.glob("*/*.sql")):
        if file.stem in views:
            raise ContractError(
                f"{show_path(file)}: there is a view {plain(file.stem)} in layer {views[file.stem].layer}; rename one"
            )
        views[file.stem] = read_view(file)
    return tuple(views[name] for name in _ordered(views))


def read_view(file: Path) -> ViewSpec:
    """One file; ContractError with its name when it is no view."""
    where = show_path(file)
    check_identifier(file.stem, f"{where}: view")
    check_identifier(file.parent.name, f"{where}: layer")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"view {where} cannot be read ({error}); correct it") from error
    try:
        return ViewSpec(name=file.stem, layer=file.parent.name, text=text, reads=_reads(text))
    except ContractError as error:
        raise ContractError(f"{where}: {error}") from error


def _reads(text: str) -> frozenset[str]:
    return names_read(parse_portable(text, what="a view"))


def _ordered(views: Mapping[str, ViewSpec]) -> Iterable[str]:
    try:
        return tuple(TopologicalSorter({n: sorted(v.reads & views.keys()) for n, v in views.items()}).static_order())
    except CycleError as error:
        raise ContractError(f"views read each other in a circle: {' -> '.join(error.args[1])}; break it") from error
