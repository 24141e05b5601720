"""ingest through Hudi: every form of good record, every kind of broken one, values at the edges, and its cap.

Sales are numbered; sale n is of unit 1 unless a test says otherwise. Broken records are those of tests.support.broken.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.contracts.errors import TableVersionError
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.broken import every_broken_record
from tests.support.contexts import CLOCK
from tests.support.envelopes import POSTGRES_TOPIC, SQLSERVER_TOPIC, START_MS, line, postgres, sqlserver, wrapped
from tests.support.hostile_names import HOSTILE, fits_file_name
from tests.support.lakes import NARROW, PIPELINE, assert_equals_oracle, make_narrow_lake, tables_by_spark

pytestmark = pytest.mark.hudi

SIGNED_MS, DAY_MS = 1_767_312_000_000, 86_400_000


def sale(number: int, **columns: object) -> dict[str, object]:
    row = {"SaleId": number, "UnitId": 1, "UnitName": "unit 1", "ContractSubtotal": f"{number}.5000"}
    return {**row, "ContractSigningDate": SIGNED_MS, **columns}


def test_a_folder_written_by_someone_else(lake):
    """The same ten sales from both connectors, wrapped or not, compressed or not; again: nothing changes."""
    from_sqlserver = [sqlserver("c", sale(n), n) for n in range(10)]
    from_postgres = [postgres("c", sale(n, ContractSigningDate=SIGNED_MS * 1000), n) for n in range(10, 20)]
    lake.land("plain", [line(record) for record in from_sqlserver[:5]])
    lake.land("wrapped.gz", [line(wrapped(record)) for record in from_sqlserver[5:]], is_gzip=True)
    lake.land("plain.gz", [line(record) for record in from_postgres[:5]], topic=POSTGRES_TOPIC, is_gzip=True)
    lake.land("wrapped", [line(wrapped(record)) for record in from_postgres[5:]], topic=POSTGRES_TOPIC)
    lake.run("ingest")
    lake.run("split")
    assert_equals_oracle(lake, map(line, [*from_sqlserver, *from_postgres]))
    assert {row["contract_signing_date"] for row in tables_by_spark(lake)["sales"].values()} == {
        datetime(2026, 1, 2, tzinfo=UTC)
    }
    before = lake.instants()
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
    assert lake.instants() == before


def test_names_of_files_and_fields_are_data_whatever_they_are(lake):
    """One sale a file, each with a field of a hostile name: the position has the file's name, no table the field."""
    names = [name for name in HOSTILE.values() if fits_file_name(name) and "\ud800" not in name]
    records = [sqlserver("c", {**sale(n), name: name}, n) for n, name in enumerate(names, start=1)]
    for name, record in zip(names, records, strict=True):
        lake.land(name, [line(record)])
    lake.run("ingest")
    lake.run("split")
    assert_equals_oracle(lake, map(line, records))
    log = lake.rows("sales_log")
    folder = f"{lake.folder}/landing/{SQLSERVER_TOPIC}/"
    assert {row["sale_id"]: row["read_from"].removeprefix(folder) for row in log} == dict(enumerate(names, start=1))
    spec = load_lake_spec(lake.settings.lake_spec)
    assert set(log[0]) == set(spec.log_columns)
    assert {path.name for path in lake.folder.iterdir()} == {"lake", "landing", lake.spec.name}


def test_every_kind_of_broken_record_in_one_batch_with_good_rows(lake):
    """The good ones are of three days, and so is what comes once more, among which is one that is new."""
    broken = every_broken_record(first_key=1000)
    good = [line(sqlserver("c", sale(n), n * 40)) for n in range(1, len(broken) + 1)]
    mixed = [text for pair in zip(good, broken, strict=True) for text in pair]
    path = lake.land("mixed.jsonl", mixed)
    result = lake.run("ingest")
    assert (result.counters["events_new"], result.counters["records_rejected"]) == (len(good), len(broken))
    lake.land("again.jsonl.gz", [*reversed(mixed), line(sqlserver("c", sale(500), 500))], is_gzip=True)
    lake.run("ingest")
    lake.run("split")
    assert_equals_oracle(lake, [*mixed, line(sqlserver("c", sale(500), 500))])
    kept = lake.rows("quarantine")
    assert {bytes(row["raw"]): row["reason"] for row in kept} == broken
    positions = {bytes(row["raw"]): row["read_offset"] for row in kept if row["read_from"] == str(path)}
    content = path.read_bytes()
    assert all(content[at : at + len(raw)] == raw for raw, at in positions.items())


def test_values_at_the_edges_are_stored_as_they_are(lake):
    """The first and last days of the calendar, the largest numbers, odd text: at the source they are ordinary."""
    rows: list[dict[str, object]] = [
        sale(1, ContractSigningDate=-62_135_510_400_000),
        sale(2, ContractSigningDate=253_402_300_799_999),
        sale(3, ContractSigningDate=-2_208_988_800_001),
        sale(4, ContractSubtotal="99999999999999.9999"),
        sale(5, ContractSubtotal="-99999999999999.9999"),
        sale(6, UnitId=2**63 - 1, UnitName=""),
        sale(7, UnitId=-(2**63), UnitName="Zürich ☃ 漢字 '\"\\|,\t"),
        sale(8, UnitId=8, UnitName="x" * 4000),
        {"SaleId": 9},
    ]
    lines = [line(sqlserver("c", row, position)) for position, row in enumerate(rows)]
    lines.append(line(sqlserver("c", sale(10), 99, ts_ms=-62_135_510_400_000)))
    lines.append(line(sqlserver("c", sale(11), 98, ts_ms=253_402_300_799_999)))
    lake.land("edges.jsonl", lines)
    lake.run("ingest")
    lake.run("split")
    assert_equals_oracle(lake, lines)
    assert {row["event_date"] for row in lake.rows("sales_log")} == {"0001-01-02", "2026-01-01", "9999-12-31"}


def test_the_cap_is_kept_and_nothing_is_lost(lake):
    lines = [line(sqlserver("c", sale(n), n)) for n in range(25)]
    lake.land("a.jsonl", lines[:15])
    lake.land("b.jsonl", lines[15:])
    results = [lake.run("ingest", max_events=10) for _ in range(4)]
    assert [result.counters["records_read"] for result in results] == [10, 10, 5, 0]
    assert [result.counters["has_more"] for result in results] == [1, 1, 0, 0]
    assert results[3].status == "nothing_to_do"
    lake.run("split")
    assert_equals_oracle(lake, lines)


def test_what_comes_again_within_a_batch_is_one_row_also_with_the_time_of_another_day(lake):
    """Sales 1 to 5 come three times; then 6 to 10 do, once of them as of the next day, which no source should say."""
    for first in (1, 6):
        lines = [line(sqlserver("c", sale(n), n)) for n in range(first, first + 5)]
        others = [line(sqlserver("c", sale(n), n, ts_ms=START_MS + DAY_MS)) for n in range(6, first + 5)]
        lake.land(f"{first}.jsonl", [*lines, *reversed(lines), *(others or lines)])
        counters = lake.run("ingest").counters
        assert (counters["events_new"], counters["records_duplicate"]) == (5, 10)
    assert sorted(row["sale_id"] for row in lake.rows("sales_log")) == [*range(1, 11)]


def test_half_a_line_that_is_never_finished_is_kept_in_quarantine(lake):
    whole = line(sqlserver("c", sale(1), 1))
    path = lake.land("a.jsonl", [whole])
    path.write_bytes(whole + b"\n" + whole[:50])
    assert "not complete" in lake.run("ingest", clock=CLOCK).messages[0]
    later = datetime.now(UTC) + timedelta(hours=1)
    lake.run("ingest", clock=later)
    assert [(bytes(row["raw"]), row["reason"]) for row in lake.rows("quarantine")] == [(whole[:50], "truncated")]
    assert lake.run("ingest", clock=later).status == "nothing_to_do"
    assert len(lake.rows("sales_log")) == 1


def test_an_empty_landing_makes_no_table(lake):
    lake.land("empty", [])
    assert [lake.run(job, **options).status for job, options in PIPELINE] == ["nothing_to_do"] * 3
    assert set(lake.instants()) == set()


@pytest.mark.parametrize(("job", "table"), [("ingest", "sales_log"), ("split", "sales_log"), ("split", "agents")])
def test_a_table_of_another_version_is_refused(lake, job, table):
    lake.land("a.jsonl", [line(sqlserver("c", sale(1), 1))])
    properties = lake.folder / "lake" / table / ".hoodie" / "hoodie.properties"
    properties.parent.mkdir(parents=True)
    properties.write_text("hoodie.table.version=9\n")
    with pytest.raises(TableVersionError, match=f"{table}: the table on disk has Hudi table version 9"):
        lake.run(job)
    assert [path.name for path in properties.parent.iterdir()] == ["hoodie.properties"]


def test_the_same_input_gives_the_same_tables(lake, tmp_path_factory):
    """Law 8: two lakes, the same files and clocks, equal to the last column, ingest time included."""
    other = make_narrow_lake(lake.spark, tmp_path_factory.mktemp("other"))
    lines = [line(sqlserver("c", sale(n % 5, UnitId=n), 24 * 60 + n)) for n in range(20)] + [b"broken"]
    for one in (lake, other):
        one.land("a.jsonl", lines)
        for job, options in PIPELINE:
            one.run(job, **options)
    for table in (*NARROW, "sales_log", "quarantine", "fast_hourly_events", "fast_daily_deals"):
        rows = [{str(sorted(row.items(), key=str)) for row in one.rows(table)} for one in (lake, other)]
        assert rows[1] == {text.replace(str(lake.folder), str(other.folder)) for text in rows[0]}
        assert rows[0] or table == "agents"
