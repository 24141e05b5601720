"""What a person decides of a source's positions.

The log knows the stream ERP at position ff. It is restored at time 1000, and moved to another server later.
"""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.epoch_steps import keep_epoch, lost_epochs, open_epoch
from spark_jobs.lake_spec.origins import NEVER, SourceBook, Stream

ERP, MOVED = "sqlserver/erp/ERP", "sqlserver/erp2/ERP"
BOOK = SourceBook(
    streams={ERP: Stream(mark="ff", time=900)},
    origins={"": (f"{ERP}/dbo.SALES",), "dbo.units": (f"{ERP}/dbo.UNITS",)},
    refused={"": (f"{MOVED}/dbo.SALES", "sqlserver/x/ERP/dbo.SALES")},
)


def test_each_epoch_is_newer_than_the_one_before():
    book = open_epoch(BOOK, ERP, since=1000, by="ann", because="restored")
    assert book.epochs == ((ERP, ((1000, 1),)),)
    again = open_epoch(book, ERP, since=2000)
    assert again.epochs == ((ERP, ((1000, 1), (2000, 2))),)
    with pytest.raises(ContractError, match="give a later time"):
        open_epoch(again, ERP, since=2000)


def test_a_stream_that_replaces_another_wins_over_all_of_it_and_feeds_its_tables():
    book = open_epoch(open_epoch(BOOK, ERP, since=1000), MOVED, since=None, after=ERP)
    assert dict(book.epochs)[MOVED] == ((NEVER, 2),)
    assert book.origins == {
        "": (f"{ERP}/dbo.SALES", f"{MOVED}/dbo.SALES"),
        "dbo.units": (f"{ERP}/dbo.UNITS", f"{MOVED}/dbo.UNITS"),
    }
    assert book.refused == {"": ("sqlserver/x/ERP/dbo.SALES",)}


def test_a_stream_that_goes_on_is_left_in_its_epoch():
    book = keep_epoch(keep_epoch(BOOK, ERP, until=1500, server="2"), ERP, until=NEVER)
    assert (book.epochs, book.streams[ERP].accepted, book.streams[ERP].identities) == ((), 1500, ("2",))


@pytest.mark.parametrize(
    ("stream", "since", "after", "message"),
    [
        ("sqlserver/erp/Erp", 1, "", "is no stream that the log knows"),
        (ERP, None, "", "--since is missing"),
        (MOVED, None, "nowhere", "'nowhere' is no stream"),
    ],
)
def test_what_cannot_be_is_refused(stream: str, since: int | None, after: str, message: str):
    with pytest.raises(ContractError, match=message):
        open_epoch(BOOK, stream, since=since, after=after)


def test_epochs_that_a_restore_took_back_are_named():
    book = open_epoch(BOOK, ERP, since=1000)
    assert lost_epochs(book, book) == lost_epochs(None, BOOK) == ()
    (line,) = lost_epochs(book, BOOK)
    assert line.endswith(f"source new-epoch --stream '{ERP}' --since 1970-01-01T00:00:01.000Z --yes")
