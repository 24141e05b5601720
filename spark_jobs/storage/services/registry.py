"""The table services in the order in which a table gets them; a new one is a module in ``kinds`` and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.services.kind import HeldKind, PlannedKind
from spark_jobs.storage.services.kinds.archive import Archive
from spark_jobs.storage.services.kinds.clean import Clean
from spark_jobs.storage.services.kinds.clustering import Clustering
from spark_jobs.storage.services.kinds.compaction import Compaction
from spark_jobs.storage.services.kinds.rescale import Rescale

_IN_ORDER: tuple[HeldKind | PlannedKind, ...] = (Rescale(), Compaction(), Clustering(), Clean(), Archive())
KINDS: Mapping[Service, HeldKind | PlannedKind] = {kind.service: kind for kind in _IN_ORDER}
