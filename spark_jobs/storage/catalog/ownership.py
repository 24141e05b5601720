"""Which entries of a catalog are the lake's own; the others are never touched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from spark_jobs.contracts.catalogs import OWNER, Action, CatalogChange


def refuse_foreign(name: str, parameters: Mapping[str, str] | None, lake: str) -> CatalogChange | None:
    """The refusal to touch an entry that is not of this lake; None when it is."""
    if (parameters or {}).get(OWNER) == lake:
        return None
    return CatalogChange(name=name, action=Action.REFUSE, what=f"an entry of this name is not of lake {lake}")


def drop_stale(
    found: Mapping[str, Mapping[str, str] | None], wanted: Collection[str], lake: str
) -> Iterator[CatalogChange]:
    """What the lake had and has no longer; ``found`` are the parameters of every entry by its name."""
    for name, parameters in found.items():
        if name not in wanted and (parameters or {}).get(OWNER) == lake:
            yield CatalogChange(name=name, action=Action.DROP, what="the lake has no such table")
