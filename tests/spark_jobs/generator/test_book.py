"""The book of sales is bounded: with too many of them some are let go, and it is known which."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from spark_jobs.generator.book import OLD_AFTER_MS, Book
from spark_jobs.generator.sale import Sale
from spark_jobs.generator.world import Entity, Unit

AGENT, UNIT = Entity(1, "An Agent"), Unit(1, "A 1", building_id=1, project_id=1, price=10_000)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_AGING", "MOST_OLD"):
        monkeypatch.setattr(f"spark_jobs.generator.book.{name}", 3)


def signed(numbers: Iterable[int]) -> list[Sale]:
    """Sales signed so many milliseconds after the beginning of 1970 as their number says."""
    return [Sale(number, AGENT, UNIT, signed_ms=number) for number in numbers]


def kept(book: Book, what: str) -> list[int]:
    return [sale[0] for sale in book.to_state()[what]]


def test_of_too_many_signed_sales_the_oldest_are_let_go():
    book = Book()
    for sale in signed(range(1, 6)):
        book.keep_signed(sale)
    assert kept(book, "aging") == [3, 4, 5]


def test_of_too_many_old_sales_another_one_is_let_go():
    book, rng = Book(), Random(1)
    for number, sale in enumerate(signed(range(1, 20)), start=1):
        book.keep_old(sale, rng)
        old = kept(book, "old")
        assert len(old) == len(set(old)) == min(number, 3)
        assert sale.id in old


def test_sales_grow_old_by_their_age():
    book = Book()
    for sale in signed((10, 20, 30)):
        book.keep_signed(sale)
    book.grow_old(20 + OLD_AFTER_MS, Random(1))
    assert (kept(book, "aging"), kept(book, "old")) == ([30], [10, 20])
