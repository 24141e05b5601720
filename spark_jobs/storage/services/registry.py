"""The services of one table in their order; a new one is a module in ``kinds`` and a line here.

That of the row index is of all tables together (pipelines.merge.index_service).
"""

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
