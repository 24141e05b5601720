"""Who is named in a report: kinds of people that its reader may see; all others are numbered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain
from spark_jobs.lake_report.series import Hide
from spark_jobs.lake_spec.reports import Chart, PictureSpec, ReportSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.views import ViewSpec
from spark_jobs.sql_analysis.view_columns import Roles, people_in_view


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Of each view's columns, the kinds of people in it that are not shown: ``agent 1`` is in place of a name.

    One person has one number in the whole report.
    """

    hidden: Mapping[tuple[str, str], Roles]
    _numbers: dict[tuple[Roles, object], int] = field(default_factory=dict)

    @classmethod
    def of(cls, report: ReportSpec, views: Collection[ViewSpec], spec: LakeSpec, *, shown: Collection[str]) -> People:
        """Those of a report; ``shown`` are the kinds whose keys and names may be seen."""
        texts = {view.name: view.text for view in views}
        reads = {view.name: view.reads for view in views}
        hidden = {
            (name, column): roles - {*shown}
            for name in {picture.view for picture in report.pictures}
            for column, roles in people_in_view(name, texts, reads, spec).items()
        }
        return cls(hidden=hidden)

    def hide(self, view: str) -> Hide:
        """For the columns of a view."""

        def shown(column: str, value: object) -> object:
            roles = self.hidden[view, column]
            if not roles or value is None:
                return value
            number = self._numbers.setdefault((roles, value), 1 + sum(of == roles for of, _ in self._numbers))
            return f"{' or '.join(sorted(roles))} {number}"

        return shown

    def mistakes(self, report: ReportSpec) -> Iterator[ContractError]:
        """Where a hidden column is no label, so that it would be seen."""
        for picture in report.pictures:
            for column in _bare(picture):
                if roles := self.hidden[picture.view, column]:
                    yield ContractError(
                        f"picture {plain(picture.title)}: column {column} of view {picture.view} names people "
                        f"({', '.join(sorted(roles))}); show them with --people, or name another column"
                    )


def _bare(picture: PictureSpec) -> tuple[str, ...]:
    """Columns whose values are shown as they are; sums are numbers."""
    times = picture.label if picture.chart is Chart.COLUMNS else ()
    return (*times, *((picture.newest,) if picture.newest else ()))
