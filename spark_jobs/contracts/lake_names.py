"""A lake knows its name: what the one small file at its base path says, and what is refused by it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from spark_jobs.contracts.errors import ContractError, TerminalError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import show, show_path

NAME_FILE = ".lake.json"
"""Below the base path; what begins with a dot is no table."""
LAYOUT = 1
"""Version of the layout of a lake's files below its base path."""
INIT = "lakehouse lake init"


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeName:
    """The name of a lake, as its spec has it, and the version of its layout."""

    lake: str
    layout: int = LAYOUT

    def __post_init__(self) -> None:
        check_identifier(self.lake, "lake")
        if type(self.layout) is not int or self.layout < 1:
            raise ContractError(f"layout {self.layout!r} of a lake is no version; it has to be a whole number from 1")

    def to_json(self) -> str:
        """One line; the same for whoever writes it, so that two writers at one moment do no harm."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: bytes, *, base_path: str) -> LakeName:
        """Read what :meth:`to_json` gave; ContractError for anything else, LakeTooNewError for a later layout."""
        try:
            found = json.loads(text)
            name = cls(lake=found["lake"], layout=found["layout"])
        except (ValueError, TypeError, KeyError, ContractError) as error:
            raise ContractError(
                f"{show_path(base_path)}/{NAME_FILE} does not say which lake this is; restore that file, or delete it "
                f"and run: {INIT}"
            ) from error
        if name.layout > LAYOUT:
            raise LakeTooNewError(base_path=base_path, layout=name.layout)
        return name


class NoLakeError(TerminalError):
    """Nothing is at the base path, or nothing that is a lake's."""

    def __init__(self, *, base_path: str) -> None:
        super().__init__(
            f"there is no lake at {show_path(base_path)}; correct LAKEHOUSE_BASE_PATH, or make a new lake there with: "
            f"{INIT}"
        )


class OtherLakeError(TerminalError):
    """The lake at the base path has another name than the lake spec."""

    def __init__(self, *, base_path: str, found: str, lake: str, spec_path: str) -> None:
        self.found, self.lake = found, lake
        super().__init__(
            f"the lake at {show_path(base_path)} is {show(found)}, and the lake spec {show_path(spec_path)} is of "
            f"{show(lake)}; correct LAKEHOUSE_BASE_PATH or LAKEHOUSE_LAKE_SPEC (of several lakes LAKEHOUSE_LAKE)"
        )


class UnnamedLakeError(TerminalError):
    """There are tables at the base path, and nothing shows that they are of this lake."""

    def __init__(self, *, base_path: str, lake: str, why: str) -> None:
        super().__init__(
            f"the tables at {show_path(base_path)} are of a lake without a name, and it may be another one than "
            f"{show(lake)}, because {why}; correct LAKEHOUSE_BASE_PATH or LAKEHOUSE_LAKE_SPEC, or, when it is this "
            f"lake, name it with: {INIT} --adopt"
        )


class NotEmptyError(TerminalError):
    """A new lake would be made where other things are."""

    def __init__(self, *, base_path: str, found: Sequence[str]) -> None:
        names = ", ".join(map(show, found[:3]))
        super().__init__(
            f"{show_path(base_path)} is no lake and has {len(found)} other files and folders ({names}); make the new "
            f"lake in an empty folder, or here all the same with: {INIT} --adopt"
        )


class LakeTooNewError(TerminalError):
    """A later release made the lake."""

    def __init__(self, *, base_path: str, layout: int) -> None:
        super().__init__(
            f"the lake at {show_path(base_path)} has layout {layout}, and this release knows layouts up to {LAYOUT}; "
            f"use the release that made it, or a later one"
        )


class NoLandingError(TerminalError):
    """The landing folder is not there: nothing can have come to it, and nothing would ever be read."""

    def __init__(self, *, landing_path: str) -> None:
        super().__init__(
            f"there is no landing folder {show_path(landing_path)}; correct LAKEHOUSE_LANDING_PATH, or make the folder "
            f"with: {INIT}"
        )


def doubt_about(
    *, tables: Sequence[str], declared: Collection[str], log: str, log_says: str | None, spec_path: str
) -> str:
    """Why tables of a lake without a name may be another lake's; "" when they are this one's.

    Args:
        tables: folders of tables at the base path; there is one at least.
        declared: the tables of the lake spec, with the tables that belong to them.
        log: its log.
        log_says: the table's name in the properties of the table in the log's folder; None when there is none.
        spec_path: of the lake spec, for the message.
    """
    others = sorted(set(tables) - set(declared))
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        return f"no entry of {show_path(spec_path)} declares {', '.join(others[:3])}{more}"
    if log in tables and log_says != log:
        return f"the table in the folder of its log {log} is called {show(log_says or '')}"
    return ""
