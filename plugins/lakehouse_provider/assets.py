"""One asset per table of the lake, and one that says how far the log has been split."""

from __future__ import annotations

from airflow.sdk import Asset

from spark_jobs.lake_spec.specs import LakeSpec

SCHEME = "lakehouse"
BACKLOG, FIRST_SPLIT = "backlog", "first_split"


class LakeAssets:
    """Assets of one lake, named ``<lake>/<table>`` with the URI ``lakehouse://<lake>/<table>``.

    The events of a table's asset carry the instant of the commit. ``split`` is the asset of the split job itself:
    its event says "every table is up to date with the log up to this instant", also when no row had to change, so a
    consumer that counts the events of the log is woken even then. The event of ``backlog`` says that a run of ingest
    left something that it may not take in at once; it starts the next run. That of ``first_split`` says that a new lake
    has tables: it starts layers that otherwise wait for their clock.
    """

    def __init__(self, spec: LakeSpec) -> None:
        self.spec = spec
        self._tables = {name: _asset(spec.lake, name) for name in spec.table_names}
        self.split = _asset(spec.lake, f"{spec.log}/split")
        self.backlog = _asset(spec.lake, f"{spec.log}/{BACKLOG}")
        self.first_split = _asset(spec.lake, f"{spec.log}/{FIRST_SPLIT}")

    def __getitem__(self, table: str) -> Asset:
        return self._tables[table]

    @property
    def ingested(self) -> list[Asset]:
        """What ingest writes: the log and the quarantine."""
        return [self[self.spec.log], self[self.spec.quarantine]]

    @property
    def tables(self) -> list[Asset]:
        """What split writes, without histories."""
        return [self[table.name] for table in self.spec.tables]

    @property
    def histories(self) -> list[Asset]:
        """What split writes beside tables with ``history``."""
        return [self[name] for name in self.spec.histories]

    @property
    def marts(self) -> list[Asset]:
        """What the layers write, all of them."""
        return [self[mart.name] for mart in self.spec.marts]

    @property
    def quality(self) -> Asset:
        """What `validate` writes: the results."""
        return self[self.spec.quality.table]

    @property
    def all(self) -> list[Asset]:
        """Every table."""
        return list(self._tables.values())

    def layer(self, name: str) -> list[Asset]:
        """What this layer writes: its marts, with the caches they need."""
        return [self[mart.name] for mart in self.spec.marts if mart.layer == name]

    def layer_sources(self, name: str) -> list[Asset]:
        """What this layer reads and does not write itself: the log, tables, marts of other layers."""
        marts = [mart for mart in self.spec.marts if mart.layer == name]
        own = {mart.name for mart in marts}
        read = {name for mart in marts for name in self.spec.sources_of(mart)}
        return [self[table] for table in self.spec.table_names if table in read - own]

    def layer_triggers(self, name: str) -> list[Asset]:
        """What starts a layer that follows the data: its sources, and ``split`` in place of the log.

        A commit of the log comes before the tables are up to date with it; the event of ``split`` comes after.
        """
        return [source for source in self.layer_sources(name) if source != self[self.spec.log]] + [self.split]


def table_of(asset: Asset) -> str:
    """The table behind an asset's name (``split``'s asset gives ``<log>/split``)."""
    return asset.name.partition("/")[2]


def _asset(lake: str, path: str) -> Asset:
    return Asset(name=f"{lake}/{path}", uri=f"{SCHEME}://{lake}/{path}", group=lake)
