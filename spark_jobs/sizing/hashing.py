"""Which bucket of a keyed table a key belongs to: the hash of Hudi's simple bucket index, and how evenly it spreads."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

_WORD, _POSITIVE = 0xFFFFFFFF, 0x7FFFFFFF
_LIST = 31
"""Hudi hashes the list of a key's fields, which has one here: 31 * 1 + the hash of its text."""
_KEYS = 200_000
_FIRST_KEY = 10_000_000
"""Keys of eight digits, as a source has after its first years."""
_MOST_SAMPLED = 2_000
"""With more buckets there would be too few keys of the sample in each to distinguish unevenness from chance."""
_SHARES = 5
_ANY_IS_EVEN = 16
_FIRST_PRIME = 37
_MOST_DEVIATION = 0.1


def java_hash(text: str) -> int:
    """``String.hashCode()``, as an unsigned number of 32 bits."""
    word, encoded = 0, text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        word = (31 * word + (high << 8 | low)) & _WORD
    return word


def bucket_of(key: str, buckets: int) -> int:
    """The bucket of a record key: the number that the id of its file group begins with."""
    return _positive_hash(key) % buckets


@lru_cache(maxsize=256)
def unevenness(buckets: int) -> float:
    """How many times the mean the largest bucket gets of consecutive numbers, as most keys are.

    Consecutive numbers differ in their last digits, which the hash weighs by powers of 31. Where these powers leave few
    different remainders (by 30, 31, 32, 64, 128 …), the buckets are sums of digits, and those crowd around a middle.
    For more than 2,000 buckets this is the answer for the largest divisor below that: it can only be worse.
    """
    buckets = _sampled(buckets)
    return max(_count(buckets).values()) * buckets / _KEYS


@lru_cache(maxsize=256)
def spread(buckets: int) -> tuple[tuple[float, float], ...]:
    """Shares of the buckets, from those with fewest keys to those with most, and what part of the keys each has.

    At most five shares of about as many buckets: the buckets of one are taken for alike.
    """
    buckets = _sampled(buckets)
    counts = _count(buckets)
    sizes = sorted(counts[bucket] for bucket in range(buckets))
    shares = min(_SHARES, buckets)
    parts = [sizes[buckets * at // shares : buckets * (at + 1) // shares] for at in range(shares)]
    return tuple((len(part) / buckets, sum(part) / _KEYS) for part in parts)


@lru_cache(maxsize=256)
def even_number(least: int) -> int:
    """The smallest number of buckets, ``least`` or more, that spreads evenly: any up to 16, from 37 on most primes.

    Not all: 31 * 31 * 31 leaves 1 by 331, 31 * 30 by 929, 31 * 32 by 991. So each is tried.
    """
    if least <= _ANY_IS_EVEN:
        return max(least, 1)
    number = max(least, _FIRST_PRIME)
    while not _is_prime(number) or _deviation(number) > _MOST_DEVIATION:
        number += 1
    return number


def _sampled(buckets: int) -> int:
    """The largest divisor that the sample has enough keys for."""
    if buckets <= _MOST_SAMPLED:
        return buckets
    return max(each for each in range(1, _MOST_SAMPLED + 1) if buckets % each == 0)


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _deviation(buckets: int) -> float:
    """Standard deviation of the buckets' keys by their mean, without what chance alone would make of the sample."""
    counts, mean = _count(buckets), _KEYS / buckets
    variance = sum(count * count for count in counts.values()) / buckets - mean * mean
    return float(max(variance - mean, 0) ** 0.5 / mean)


def _count(buckets: int) -> Counter[int]:
    """Keys of the sample in each bucket."""
    return Counter(map(buckets.__rmod__, _sample()))


@lru_cache(maxsize=1)
def _sample() -> tuple[int, ...]:
    """Hashes of consecutive keys; ten at a time share all digits but the last, and so most of the work."""
    starts = (java_hash(str(number)) for number in range(_FIRST_KEY // 10, (_FIRST_KEY + _KEYS) // 10))
    return tuple((_LIST + (31 * start + digit & _WORD)) & _POSITIVE for start in starts for digit in b"0123456789")


def _positive_hash(key: str) -> int:
    return (_LIST + java_hash(key)) & _POSITIVE
