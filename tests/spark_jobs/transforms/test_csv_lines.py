"""Lines of CSV, read back by Python's own reader: every value of every type as it was."""

from __future__ import annotations

import csv
import io
import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.transforms.csv_lines import to_csv_lines

pytestmark = pytest.mark.spark

SCHEMA = (
    "text string, bytes binary, moment timestamp, day date, amount decimal(38,18), number double, count bigint, "
    "is_new boolean, list array<int>, map map<string,string>, parts struct<a int, b timestamp>"
)
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def lines_of(rows_df: DataFrame, *, guards_formulas: bool = False) -> list[str]:
    return [row["line"] for row in to_csv_lines(rows_df, guards_formulas=guards_formulas).collect()]


def read_back(lines: list[str]) -> list[list[str]]:
    return list(csv.reader(io.StringIO("\n".join(lines) + "\n", newline="")))


def test_values_of_every_type(spark: SparkSession) -> None:
    rows = [
        (
            "a",
            b"\x00\xff",
            MOMENT,
            date(2026, 1, 2),
            Decimal("-0.000000000000000001"),
            1.5,
            2**60,
            True,
            [1, None],
            {"k": 'v"'},
            (1, MOMENT),
        ),
        (None,) * 11,
        (
            "",
            b"",
            MOMENT.replace(microsecond=0),
            date(1583, 1, 1),
            Decimal("12345678901234567890"),
            -0.25,
            -1,
            False,
            [],
            {},
            (None, None),
        ),
    ]
    lines = lines_of(spark.createDataFrame(rows, SCHEMA).coalesce(1))
    assert read_back(lines) == [
        [column.split()[0] for column in SCHEMA.split(", ") if not column.startswith("b ")],
        [
            "a",
            "00FF",
            "2026-01-02T03:04:05.678901Z",
            "2026-01-02",
            "-0.000000000000000001",
            "1.5",
            str(2**60),
            "true",
            "[1,null]",
            '{"k":"v\\""}',
            '{"a":1,"b":"2026-01-02T03:04:05.678901Z"}',
        ],
        [""] * 11,
        [
            "",
            "",
            "2026-01-02T03:04:05.000000Z",
            "1583-01-01",
            "12345678901234567890.000000000000000000",
            "-0.25",
            "-1",
            "false",
            "[]",
            "{}",
            '{"a":null,"b":null}',
        ],
    ]
    assert lines[1] == "," * 10, "null is nothing"
    assert lines[2].startswith('"",'), "and an empty text is not"


@pytest.mark.parametrize("seed", range(3))
def test_any_texts_come_back_as_they_were(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    texts = ["".join(rng.choices(",\"\r\n\t =+-@'\\aé🏠", k=rng.randrange(6))) for _ in range(200)]
    rows = [(text, number, rng.choice(texts)) for number, text in enumerate(texts)]
    lines = lines_of(spark.createDataFrame(rows, '`a,"b` string, n int, c string').coalesce(1))
    assert read_back(lines) == [['a,"b', "n", "c"], *([one, str(number), other] for one, number, other in rows)]


def test_the_first_line_of_each_partition_has_the_header(spark: SparkSession) -> None:
    lines = lines_of(spark.range(0, 10, 1, 3))
    assert sum(line.startswith("id\n") for line in lines) == 3
    assert [int(line.removeprefix("id\n")) for line in lines] == list(range(10))
    assert lines_of(spark.range(0, 10, 1, 3).coalesce(1)) == ["id\n0", *map(str, range(1, 10))]
    assert lines_of(spark.range(0, 5, 1, 5).where("id = 3")) == ["id\n3"]


def test_formulas_are_left_unless_they_are_to_be_guarded(spark: SparkSession) -> None:
    """Numbers are none, whatever they begin with."""
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "a=1", "", None]
    rows_df = spark.createDataFrame([(text, -1) for text in texts], "text string, n int").coalesce(1)
    as_they_are, guarded = (read_back(lines_of(rows_df, guards_formulas=guards))[1:] for guards in (False, True))
    assert as_they_are == [[text or "", "-1"] for text in texts]
    assert guarded == [["'" * (bool(text) and text != "a=1") + (text or ""), "-1"] for text in texts]


def test_decimals_have_all_their_digits_and_no_exponent(spark: SparkSession) -> None:
    numbers = [Decimal(text) for text in ("0", "1E-18", "-1.23E-16", "1E-7", "1E-6", "-0.5", "12345678901234567890")]
    lines = lines_of(spark.createDataFrame([(n,) for n in numbers], "amount decimal(38,18)").coalesce(1))
    assert "\n".join(lines).split("\n")[1:] == [f"{number:.18f}" for number in numbers]
