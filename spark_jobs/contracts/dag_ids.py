"""What Airflow's DAGs are called: backfills, dashboards and alerts name them, so these are promises.

The lake ``sales``, and a lake that is alone whatever it is called, has the names without a lake's. The DAGs of every
other lake are ``<lake>_<kind>``.
"""

from __future__ import annotations

from collections.abc import Collection

from spark_jobs.contracts.lakes import DEFAULT_LAKE

_WITH_A_NAME_OF_THEIR_OWN = {"ingest": "ingest_sales", "split": "split_sales"}
_LAYER = "_layer"
KINDS = (
    *("ingest", "split", "fast_layer", "stitch_layer", "slow_layer"),
    *("recompute", "apply_changes", "undo_changes"),
    *("table_services", "savepoints", "restore", "erase", "snapshot", "catalog_sync"),
    *("data_quality", "freshness"),
)
"""One DAG of each is made for a lake, in the order in which data flows, then those that only look."""


def dag_id_of(kind: str, lake: str = "") -> str:
    """The DAG's id; ``lake`` is "" for a lake that is alone."""
    return f"{lake}_{kind}" if lake not in ("", DEFAULT_LAKE) else _WITH_A_NAME_OF_THEIR_OWN.get(kind, kind)


DAG_IDS = tuple(map(dag_id_of, KINDS))
"""Of the lake ``sales``, in the same order."""


WATCH = "lakes"
"""The DAG that no lake has: where there are several it reports those that cannot be served."""


def kinds_of(layers: Collection[str]) -> tuple[str, ...]:
    """The kinds of DAG that a lake has: all, but for layers of which it has no mart."""
    return tuple(kind for kind in KINDS if not kind.endswith(_LAYER) or kind.removesuffix(_LAYER) in layers)
