"""With which definition the stored rows of a mart were computed, and whether it is that of the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.definitions import changed_parts, mart_parts
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.clocks import CLOCK_KEY
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

CLOCK, DEFINITION, DECLARED = CLOCK_KEY, "definition", "declared"
"""In the metadata of a mart's commit: its clock, the digest of its definition, and the parts of it (JSON)."""
FULL_SECONDS = "full_seconds"
"""In the metadata of a full refresh: how long it computed before it committed."""


def definition_changes(mart: MartSpec, spec: LakeSpec, timeline: Timeline, state: ConsumerState) -> tuple[str, ...]:
    """The parts in which the files differ from the definition that the stored rows were computed with.

    Commits of earlier releases know a digest alone: then it is ``definition`` that changed. A table that does not even
    have that is taken for what the files say.
    """
    known = _known(mart.name, timeline, state)
    if DECLARED in known:
        return changed_parts(json.loads(known[DECLARED]), mart_parts(mart, spec))
    return (DEFINITION,) if known.get(DEFINITION, mart.definition) != mart.definition else ()


def changed_marts(marts: Iterable[MartSpec], spec: LakeSpec, settings: Settings) -> dict[str, tuple[str, ...]]:
    """Of these marts those whose definition changed, with its parts."""
    registry, found = ConsumerRegistry(settings.base_path), dict[str, tuple[str, ...]]()
    for mart in marts:
        timeline = Timeline(table=mart.name, path=settings.table_path(mart.name))
        if timeline.last and (parts := definition_changes(mart, spec, timeline, registry.read(mart.name))):
            found[mart.name] = parts
    return found


def check_definitions(marts: Iterable[MartSpec], spec: LakeSpec, settings: Settings) -> None:
    """Raise DefinitionChangedError when one of these marts would be computed by another definition than its rows."""
    if changed := changed_marts(marts, spec, settings):
        raise DefinitionChangedError(changed=changed)


def _known(name: str, timeline: Timeline, state: ConsumerState) -> Mapping[str, str]:
    """What was noted last: by the consumer's file when it is of the newest commit, else by the newest commit."""
    if timeline.last and state.tables.get(name) == timeline.last and DEFINITION in state.notes:
        return state.notes
    for write in reversed(timeline.writes):
        metadata = timeline.metadata(write)
        if METADATA_PREFIX + DEFINITION in metadata:
            return {key.removeprefix(METADATA_PREFIX): value for key, value in metadata.items()}
    return {}
