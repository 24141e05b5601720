"""What a lake's report shows: pages of pictures, each over one of the business's views or a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import plain, show
from spark_jobs.lake_spec.described import is_one_line

_MOST_TITLE = 80
_MOST_BARS, _MOST_COLUMNS, _MOST_DIGITS = 50, 100, 6


class Chart(StrEnum):
    """How a picture shows its values."""

    NUMBER = "number"
    """One number: the value of all rows."""
    BARS = "bars"
    """A bar for each label, the largest first."""
    COLUMNS = "columns"
    """A column for each step of time, the newest last; steps without rows are 0."""
    FUNNEL = "funnel"
    """A bar for each label, in the order of another column."""


class Step(StrEnum):
    """From one column of a picture to the next."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSpec:
    """One picture: the rows of ``view`` by the columns ``label``, and of each label the sum of ``value``.

    Args:
        title: above it.
        view: one of the business's views, or a table of the lake.
        chart: how it is shown.
        value: the column that is added up.
        label: the columns that name a bar, one after another; of columns the one with the time.
        per: the sum of ``value`` is a share of the sum of this column.
        newest: only rows with the greatest value of this column count, such as those of the newest month.
        order: of a funnel, the column with the place of each label.
        step: of columns.
        most: bars (the others become one) or columns (older ones are not shown) at most; 0: 12 bars, 48 columns.
        digits: after the point of what is shown.
        unit: what the values are, such as EUR.
        note: a sentence below the title.
    """

    title: str
    view: str
    chart: Chart
    value: str
    label: tuple[str, ...] = ()
    per: str = ""
    newest: str = ""
    order: str = ""
    step: Step | None = None
    most: int = 0
    digits: int = 0
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the view that it reads, each once."""
        return tuple(dict.fromkeys(filter(None, (*self.label, self.value, self.per, self.newest, self.order))))

    @property
    def limit(self) -> int:
        """How many bars or columns it has at most."""
        return self.most or (48 if self.chart is Chart.COLUMNS else 12)

    def _mistakes(self) -> Iterator[ContractError]:
        what = f"picture {plain(self.title)}"
        yield from mistakes_of_title(self.title, "title")
        yield from wrong_identifier(self.view, f"{what}: view", at=("view",))
        for name in ("value", "per", "newest", "order"):
            if (column := getattr(self, name)) or name == "value":
                yield from wrong_identifier(column, f"{what}: {name}", at=(name,))
        for number, column in enumerate(self.label):
            yield from wrong_identifier(column, f"{what}: label", at=("label", number))
        for name in ("unit", "note"):
            if not is_one_line(getattr(self, name)):
                yield ContractError(f"{what}: {name} is not one line of at most 255 characters; shorten it", at=(name,))
        yield from self._of_chart(what)
        most = _MOST_COLUMNS if self.chart is Chart.COLUMNS else _MOST_BARS
        for name, limit in (("most", most), ("digits", _MOST_DIGITS)):
            if not 0 <= getattr(self, name) <= limit:
                yield ContractError(f"{what}: {name} is {getattr(self, name)}; give 0 to {limit}", at=(name,))

    def _of_chart(self, what: str) -> Iterator[ContractError]:
        """Entries that the chart needs, and those that have no meaning in it."""
        chart = self.chart
        if bool(self.label) is (chart is Chart.NUMBER):
            way = "take label out" if self.label else "name the columns of its labels with label"
            yield ContractError(f"{what}: chart {chart} {'has no' if self.label else 'needs a'} label; {way}")
        if chart is Chart.COLUMNS and len(self.label) > 1:
            yield ContractError(f"{what}: chart columns has one label, the time; name one column", at=("label",))
        for name, of in (("step", Chart.COLUMNS), ("order", Chart.FUNNEL)):
            is_given = bool(getattr(self, name))
            if is_given and chart is not of:
                yield ContractError(f"{what}: {name} is for chart {of}; take it out", at=(name,))
            if not is_given and chart is of:
                yield ContractError(f"{what}: chart {of} needs {name}; add it")
        if self.most and chart is Chart.NUMBER:
            yield ContractError(f"{what}: most is for bars and columns; take it out", at=("most",))
        if self.per and self.unit:
            yield ContractError(f"{what}: a share is in percent, so unit has no meaning; take it out", at=("unit",))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpec:
    """Pictures that belong together, below one title."""

    title: str
    pictures: tuple[PictureSpec, ...]

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from mistakes_of_title(self.title, "title")
        if not self.pictures:
            yield ContractError(f"page {plain(self.title)} has no pictures; add one", at=("pictures",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec:
    """The report of a lake."""

    title: str
    pages: tuple[PageSpec, ...]

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    @property
    def pictures(self) -> tuple[PictureSpec, ...]:
        """Those of all pages."""
        return tuple(picture for page in self.pages for picture in page.pictures)

    def _mistakes(self) -> Iterator[ContractError]:
        yield from mistakes_of_title(self.title, "title")
        if not self.pages:
            yield ContractError("the report has no pages; add one", at=("pages",))
        titles = [page.title for page in self.pages]
        for number, title in enumerate(titles):
            if title in titles[:number]:
                yield ContractError(
                    f"two pages have the title {show(title)}; rename one", at=("pages", number, "title")
                )


def mistakes_of_title(title: str, name: str) -> Iterator[ContractError]:
    """Raise nothing for a short line of text that is not empty."""
    if not title.strip() or not title.isprintable() or len(title) > _MOST_TITLE:
        yield ContractError(
            f"{name} {show(title)} is not one line of 1 to {_MOST_TITLE} characters; correct it", at=(name,)
        )
