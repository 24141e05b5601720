"""The hash of Hudi's bucket index: against Java's documented values, and against file groups that Hudi 1.2.0 wrote.

The file groups are of merge-on-read tables of 37 and of 64 buckets, written by this project's writer, one by a first
commit (`bulk_insert`) and an upsert over it; tests/spark_jobs/storage/services/run/test_rescale.py looks at new ones.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.sizing.hashing import bucket_of, even_number, java_hash, spread, unevenness

pytestmark = pytest.mark.slice(name="tables")

WRITTEN = {
    37: {
        "10000000": 26,
        "10002999": 21,
        "10001999": 15,
        "-5": 36,
        "0": 5,
        "hello": 22,
        "polygenelubricants": 31,
        "日本語": 33,
        "😀 grin": 33,
        "Zoë": 28,
        "a:b": 17,
        "a:b,c:d": 16,
        "x,y": 27,
        "long " * 20: 3,
    },
    64: {
        "10000000": 62,
        "10002999": 37,
        "10001999": 6,
        "-5": 7,
        "0": 15,
        "hello": 49,
        "polygenelubricants": 31,
        "日本語": 54,
        "😀 grin": 12,
        "Zoë": 21,
        "a:b": 40,
        "a:b,c:d": 9,
        "x,y": 36,
        "long " * 20: 31,
    },
}


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("", 0), ("a", 97), ("hello", 99162322), ("Aa", 2112), ("BB", 2112), ("polygenelubricants", -(2**31))],
)
def test_java_hash(text: str, hashed: int):
    assert java_hash(text) == hashed % 2**32


@pytest.mark.parametrize(("buckets", "key"), [(buckets, key) for buckets, keys in WRITTEN.items() for key in keys])
def test_a_key_is_in_the_bucket_where_hudi_put_it(buckets: int, key: str):
    assert bucket_of(key, buckets) == WRITTEN[buckets][key]


@given(st.text(), st.text(min_size=1, max_size=1).filter(lambda char: ord(char) < 0x10000))
def test_a_hash_goes_on_by_its_law(text: str, char: str):
    """h(s + c) = 31 h(s) + c, in words of 32 bits."""
    assert java_hash(text + char) == (31 * java_hash(text) + ord(char)) % 2**32


@given(st.text(), st.integers(1, 5000))
def test_every_key_has_a_bucket(key: str, buckets: int):
    assert 0 <= bucket_of(key, buckets) < buckets


@pytest.mark.parametrize("buckets", [1, 31, 37, 64])
def test_unevenness_is_that_of_consecutive_keys(buckets: int):
    counts = Counter(bucket_of(str(key), buckets) for key in range(10_000_000, 10_200_000))
    assert unevenness(buckets) == pytest.approx(max(counts.values()) / (200_000 / buckets))


def test_powers_of_two_and_neighbours_of_31_are_uneven_and_primes_are_not():
    assert min(unevenness(buckets) for buckets in (30, 31, 32, 64, 128, 256)) > 1.5
    assert max(unevenness(buckets) for buckets in (*range(1, 17), 37, 67, 131, 257)) < 1.1


def test_more_buckets_than_can_be_tried_are_judged_by_a_divisor():
    assert unevenness(65_536) == unevenness(1024)


@settings(max_examples=25)
@given(st.integers(1, 1900))
def test_an_even_number_is_at_least_what_is_needed_and_little_more(least: int):
    number = even_number(least)
    assert least <= number <= max(37, least + 60)
    assert unevenness(number) < 1.3  # with a hundred keys a bucket chance alone makes so much


@pytest.mark.parametrize(("least", "number"), [(16, 16), (17, 37), (331, 337), (929, 937), (991, 997), (64, 67)])
def test_a_prime_that_31_goes_round_in_few_steps_is_not_even(least: int, number: int):
    assert even_number(least) == number


def test_even_numbers_are_found_among_many_buckets_too():
    assert even_number(100_000) == 100_003


@pytest.mark.parametrize("buckets", [1, 2, 3, 7, 37, 64, 512, 4096])
def test_a_spread_has_every_bucket_and_every_key_and_the_largest_last(buckets: int):
    found = spread(buckets)
    means = [part / share for share, part in found]
    assert len(found) == min(buckets, 5)
    assert (sum(share for share, _ in found), sum(part for _, part in found)) == pytest.approx((1, 1))
    assert means == sorted(means)
    assert 1 <= means[-1] <= unevenness(buckets) * (1 + 1e-9)
    assert buckets > 5 or means[-1] == pytest.approx(unevenness(buckets))
