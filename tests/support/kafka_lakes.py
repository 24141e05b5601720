"""Lakes that read Kafka's topics instead of a landing path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from tests.support.lakes import Lake


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaLake(Lake):
    """A lake whose events are messages of a broker."""

    servers: str
    start: str = "earliest"
    properties: Mapping[str, str] = field(default_factory=dict)
    spec: str = ""
    """A lake spec of its own, or none."""

    @property
    def settings(self) -> Settings:
        own: dict[str, Any] = {"lake_spec": self.spec} if self.spec else {}
        return replace(
            super(KafkaLake, self).settings,
            kafka_servers=self.servers,
            kafka_start=self.start,
            kafka_properties=json.dumps(dict(self.properties)) if self.properties else "",
            **own,
        )

    def take_all(self, **options: Any) -> list[JobResult]:
        """Run ingest until nothing waits; gives every run's result, the last of which had nothing to do."""
        results = [self.run("ingest", **options)]
        while results[-1].status != "nothing_to_do":
            results.append(self.run("ingest", **options))
        return results
