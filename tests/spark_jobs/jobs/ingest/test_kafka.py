"""ingest from a real broker: exactly once whatever happens to topics, and a loss is never skipped in silence.

Every test has the topics of one broker for itself. Sale n is of unit 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain

import pytest
from pyspark.sql import SparkSession

from local_stack.servers.kafka import KafkaBroker
from spark_jobs.contracts.errors import MessagesLostError, TransientError
from spark_jobs.sources import kafka
from spark_jobs.sources.discovery import find_delivery
from tests.support.broken import every_broken_record
from tests.support.contexts import CLOCK
from tests.support.envelopes import POSTGRES_TOPIC, SQLSERVER_TOPIC, line, postgres, sqlserver, wrapped
from tests.support.expecting_lakes import make_expecting_lake
from tests.support.kafka import Topics, running_kafka
from tests.support.kafka_lakes import KafkaLake
from tests.support.lakes import assert_equals_oracle, make_narrow_lake

pytestmark = [pytest.mark.hudi, pytest.mark.services]

LATER = pytest.mark.slice(name="jobs")
SIGNED_MS = 1_767_312_000_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with running_kafka(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture
def topics(broker: KafkaBroker) -> Iterator[Topics]:
    made = Topics(servers=broker.address)
    yield made
    made.delete_all()


@pytest.fixture
def lake(spark: SparkSession, tmp_path, broker: KafkaBroker) -> KafkaLake:
    narrow = make_narrow_lake(spark, tmp_path)
    return KafkaLake(spark=spark, folder=tmp_path, servers=broker.address, spec=str(narrow.spec))


def sale(number: int, **columns: object) -> dict[str, object]:
    row = {"SaleId": number, "UnitId": 1, "UnitName": "unit 1", "ContractSubtotal": f"{number}.5000"}
    return {**row, "ContractSigningDate": SIGNED_MS, **columns}


def changes(first: int, last: int) -> list[bytes]:
    return [line(sqlserver("c", sale(n), n)) for n in range(first, last + 1)]


def sale_ids(lake: KafkaLake) -> list[int]:
    return sorted(row["sale_id"] for row in lake.rows("sales_log"))


def test_two_connectors_topics_in_runs_of_a_few_with_all_that_is_broken(lake, topics):
    """Every message is a row of the log, of the quarantine, or counted as no event; read again, nothing changes."""
    topics.create(SQLSERVER_TOPIC, partitions=3, max_message_bytes="8000000")
    topics.create(POSTGRES_TOPIC)
    topics.create("erp.dbo.OTHERS")
    broken = every_broken_record(first_key=1000)
    by_partition = [changes(number * 10 + 1, number * 10 + 9) for number in range(3)]
    for number, records in enumerate(by_partition):
        topics.send(SQLSERVER_TOPIC, [*records, None, *list(broken)[number::3]], partition=number)
    from_postgres = [postgres("c", sale(n, ContractSigningDate=SIGNED_MS * 1000), n) for n in range(40, 60)]
    topics.send(POSTGRES_TOPIC, [line(wrapped(record)) for record in from_postgres])
    topics.send("erp.dbo.OTHERS", changes(70, 71))
    *results, last = lake.take_all(max_events=90)
    lake.run("split")
    delivered = [*chain(*by_partition), *broken, *map(line, from_postgres)]
    assert_equals_oracle(lake, delivered)
    sums = {name: sum(each.counters[name] for each in results) for name in results[0].counters if name != "topics"}
    assert sums["records_read"] == sums["offsets_read"] == len(delivered) + 3
    counted = ("events_new", "records_quarantined", "records_duplicate")
    assert [sums[name] for name in counted] == [27 + 20, len(broken), 3]
    assert {each.counters["records_read"] for each in results[:-1]} == {90}
    assert (last.counters["topics"], last.counters["has_more"]) == (2, 0)
    before = lake.instants()
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
    assert lake.instants() == before
    places = {row["read_from"] for row in [*lake.rows("sales_log"), *lake.rows("quarantine")]}
    assert places == {f"kafka:{SQLSERVER_TOPIC}/{n}" for n in range(3)} | {f"kafka:{POSTGRES_TOPIC}/0"}


def test_what_is_sent_again_is_counted_and_changes_nothing(lake, topics):
    topics.create(SQLSERVER_TOPIC)
    topics.send(SQLSERVER_TOPIC, [*changes(1, 5), b"no json"])
    lake.run("ingest")
    topics.send(SQLSERVER_TOPIC, [*changes(3, 7), b"no json"])
    counters = lake.run("ingest").counters
    assert [counters[name] for name in ("events_new", "records_quarantined", "records_duplicate")] == [2, 0, 4]
    assert sale_ids(lake) == [1, 2, 3, 4, 5, 6, 7]
    by_sale = {row["sale_id"]: row["read_offset"] for row in lake.rows("sales_log")}
    assert (by_sale[5], by_sale[6]) == (4, 9)


@LATER
def test_a_partition_that_comes_later_begins_at_its_first_message(lake, topics):
    topics.create(SQLSERVER_TOPIC)
    topics.send(SQLSERVER_TOPIC, changes(1, 2))
    later = replace(lake, start="latest")
    lake.run("ingest")
    topics.widen(SQLSERVER_TOPIC, 2)
    topics.send(SQLSERVER_TOPIC, changes(3, 4), partition=1)
    later.take_all()
    assert sale_ids(lake) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("2026-01-01T00:00:03Z", [3, 4, 5, 6]),
        pytest.param("latest", [5, 6], marks=LATER),
        pytest.param("2036-01-01T00:00:00Z", [5, 6], marks=LATER),
        pytest.param('{"erp.dbo.SALES": {"0": 1}}', [2, 3, 4, 5, 6], marks=LATER),
    ],
)
def test_where_a_topic_begins(lake, topics, start, expected):
    topics.create(SQLSERVER_TOPIC)
    first_ms = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    topics.send(SQLSERVER_TOPIC, changes(1, 4), timestamps=[first_ms + n * 1000 for n in range(1, 5)])
    begun = replace(lake, start=start)
    begun.run("ingest")
    topics.send(SQLSERVER_TOPIC, changes(5, 6))
    begun.take_all()
    assert sale_ids(lake) == expected


def test_messages_that_retention_took_before_they_were_read(lake, topics):
    """Nothing is read, of no topic, until a person accepts what is lost of each; then all that is there is."""
    for topic in (SQLSERVER_TOPIC, POSTGRES_TOPIC):
        topics.create(topic)
        topics.send(topic, changes(1, 4))
        lake.run("ingest")
    topics.send(SQLSERVER_TOPIC, changes(5, 9))
    topics.forget(SQLSERVER_TOPIC, 0, before=7)
    before = lake.instants()
    for options in ({}, {"accept_loss": POSTGRES_TOPIC}):
        with pytest.raises(MessagesLostError) as caught:
            lake.run("ingest", **options)
        assert "partition 0 lost offsets 4 to 6, deleted before they were read" in str(caught.value)
        assert f"ingest --accept-loss {SQLSERVER_TOPIC}" in str(caught.value)
    assert lake.instants() == before
    result = lake.run("ingest", accept_loss=f"{POSTGRES_TOPIC}, {SQLSERVER_TOPIC}")
    assert [message for message in result.messages if message.startswith("accepted: ")] == [
        f"accepted: topic {SQLSERVER_TOPIC}: partition 0 lost offsets 4 to 6, deleted before they were read"
    ]
    assert sale_ids(lake) == [1, 2, 3, 4, 8, 9]
    assert lake.run("ingest").status == "nothing_to_do"


@LATER
def test_what_retention_took_after_it_was_read_is_no_loss(lake, topics):
    topics.create(SQLSERVER_TOPIC)
    topics.send(SQLSERVER_TOPIC, changes(1, 4))
    lake.run("ingest")
    topics.forget(SQLSERVER_TOPIC, 0, before=4)
    assert lake.run("ingest").status == "nothing_to_do"


def test_a_topic_that_was_deleted_and_one_that_was_made_again(lake, topics):
    for topic in (SQLSERVER_TOPIC, POSTGRES_TOPIC):
        topics.create(topic)
    topics.send(SQLSERVER_TOPIC, changes(1, 4))
    topics.send(POSTGRES_TOPIC, changes(5, 6))
    lake.run("ingest")
    for topic in (SQLSERVER_TOPIC, POSTGRES_TOPIC):
        topics.delete(topic)
    topics.create(SQLSERVER_TOPIC)
    topics.send(SQLSERVER_TOPIC, changes(4, 9))
    with pytest.raises(MessagesLostError) as caught:
        lake.run("ingest")
    assert f"{SQLSERVER_TOPIC} was deleted and recreated" in str(caught.value)
    assert f"{POSTGRES_TOPIC} is gone" in str(caught.value)
    assert f"--accept-loss {SQLSERVER_TOPIC},{POSTGRES_TOPIC}" in str(caught.value)
    lake.run("ingest", accept_loss=f"{SQLSERVER_TOPIC},{POSTGRES_TOPIC}")
    assert sale_ids(lake) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert lake.run("ingest").status == "nothing_to_do"


def test_transactions_count_when_they_are_committed(lake, topics):
    topics.create(SQLSERVER_TOPIC)
    with topics.transaction("aborted", SQLSERVER_TOPIC, changes(1, 2), commits=False):
        pass
    with topics.transaction("open", SQLSERVER_TOPIC, changes(3, 4)):
        topics.send(SQLSERVER_TOPIC, changes(5, 5))
        first = lake.run("ingest")
        assert sale_ids(lake) == []
    second = lake.run("ingest")
    assert sale_ids(lake) == [3, 4, 5]
    assert [each.counters["records_read"] for each in (first, second)] == [0, 3]
    assert lake.run("ingest").status == "nothing_to_do"


@LATER
def test_a_broker_that_was_restarted_and_one_that_is_away(spark, tmp_path, monkeypatch):
    """What waits is older than what it waits for; no broker answers: try again; then all goes on where it was."""
    monkeypatch.setattr(kafka, "ANSWER_SECONDS", 2.0)
    (tmp_path / "broker").mkdir()
    with running_kafka(tmp_path / "broker") as broker:
        lake = KafkaLake(spark=spark, folder=tmp_path, servers=broker.address)
        topics = Topics(servers=broker.address)
        topics.create(SQLSERVER_TOPIC)
        topics.send(SQLSERVER_TOPIC, changes(1, 3))
        lake.run("ingest", max_events=2)
        broker.folder.stop_all()
        with pytest.raises(TransientError, match=rf"Kafka at {broker.address} does not answer"):
            lake.run("ingest")
        broker.start()
        monkeypatch.undo()
        topics.send(SQLSERVER_TOPIC, changes(4, 5))
        lake.take_all()
        assert sale_ids(lake) == [1, 2, 3, 4, 5]


def test_a_message_that_goes_between_the_plan_and_the_read_is_tried_again(lake, topics, monkeypatch):
    topics.create(SQLSERVER_TOPIC)
    topics.send(SQLSERVER_TOPIC, changes(1, 5))

    def forget_then_give(*arguments, **options):
        delivery = find_delivery(*arguments, **options)
        topics.forget(SQLSERVER_TOPIC, 0, before=2)
        return delivery

    monkeypatch.setattr("spark_jobs.pipelines.ingestion.run.find_delivery", forget_then_give)
    with pytest.raises(TransientError, match=rf"kafka:{SQLSERVER_TOPIC}/0 from 0: .*; nothing was written"):
        lake.run("ingest")
    monkeypatch.undo()
    assert lake.rows("sales_log") == []
    lake.take_all()
    assert sale_ids(lake) == [3, 4, 5]


@LATER
def test_a_lake_that_moves_from_landing_files_to_kafka_and_back(lake, topics):
    """Each commit keeps what was read of both."""
    by_files = replace(lake, servers="")
    topics.create(SQLSERVER_TOPIC)
    topics.send(SQLSERVER_TOPIC, changes(3, 4))
    by_files.land("one.jsonl", changes(1, 2))
    by_files.run("ingest")
    lake.run("ingest")
    assert [each.run("ingest").status for each in (by_files, lake)] == ["nothing_to_do"] * 2
    by_files.land("two.jsonl", changes(5, 6))
    topics.send(SQLSERVER_TOPIC, changes(7, 8))
    assert [each.run("ingest").counters["records_read"] for each in (by_files, lake)] == [2, 2]
    assert sale_ids(lake) == [1, 2, 3, 4, 5, 6, 7, 8]
    lake.land("three.jsonl", changes(9, 12))
    topics.send(SQLSERVER_TOPIC, changes(11, 14))
    taken = [(run.counters["records_read"], run.counters["has_more"]) for run in lake.take_all(max_events=6)]
    assert taken == [(6, 1), (2, 0), (0, 0)], "half of what is read are files while messages wait"
    assert sale_ids(lake) == [*range(1, 15)]


def test_what_a_rule_sets_aside_is_kept_with_its_bytes(spark, tmp_path, broker, topics):
    """They are read once more, of messages and files, for what was decoded has no bytes any more."""
    rule = {"not_unit_2": {"column": "unit_id", "one_of": [1], "action": "quarantine"}}
    spec = make_expecting_lake(spark, tmp_path, {"sales_log": rule}).settings.lake_spec
    lake = KafkaLake(spark=spark, folder=tmp_path, servers=broker.address, spec=spec)
    topics.create(SQLSERVER_TOPIC, partitions=2)
    records = [line(sqlserver("c", sale(n, UnitId=1 + n % 3 // 2), n)) for n in range(1, 21)]
    for number in (0, 1):
        topics.send(SQLSERVER_TOPIC, records[number:14:2], partition=number)
    lake.land("files.jsonl", records[14:])
    counters = lake.run("ingest").counters
    aside = [record for n, record in enumerate(records, start=1) if n % 3 == 2]
    assert (counters["records_set_aside"], counters["events_new"]) == (len(aside), 20 - len(aside))
    assert sorted(bytes(row["raw"]) for row in lake.rows("quarantine")) == sorted(aside)


def test_freshness_says_since_when_a_message_waits(lake, topics, capsys):
    topics.create(SQLSERVER_TOPIC)
    sent = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
    topics.send(SQLSERVER_TOPIC, changes(1, 2), timestamps=[int(sent.timestamp() * 1000)] * 2)
    lake.run("ingest")
    lake.run("freshness", tables="sales_log", clock=sent)
    assert "30 min ago" not in capsys.readouterr().out
    topics.send(SQLSERVER_TOPIC, changes(3, 3), timestamps=[int(sent.timestamp() * 1000)])
    with pytest.raises(Exception, match="sales_log: behind: something waits since 2026-01-02 12:00 UTC"):
        lake.run("freshness", tables="sales_log", clock=CLOCK)
    assert "30 min ago" in capsys.readouterr().out
