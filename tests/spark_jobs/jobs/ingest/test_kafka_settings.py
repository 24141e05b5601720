"""Wrong settings and options of Kafka are refused before a session starts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import ingest
from tests.support.contexts import context_of


def check(settings: Settings, **options: Any) -> None:
    ingest.check(context_of("ingest", settings, **options))


def test_a_loss_can_be_accepted_of_kafka_alone():
    check(Settings(kafka_servers="b:1"), accept_loss="t")
    with pytest.raises(ContractError, match="LAKEHOUSE_KAFKA_SERVERS names none"):
        check(Settings(), accept_loss="t")


def test_properties_and_the_start_are_looked_at():
    with pytest.raises(SettingsError, match="LAKEHOUSE_KAFKA_START"):
        check(Settings(kafka_servers="b:1", kafka_start="somewhere"))
    with pytest.raises(SettingsError, match=r"group\.id"):
        check(Settings(kafka_servers="b:1", kafka_properties=json.dumps({"group.id": "g"})))
