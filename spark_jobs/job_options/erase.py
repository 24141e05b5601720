"""Options of the job ``erase``: one for each kind of people that the lake spec declares, beside those of its class."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.contracts.settings import Settings
from spark_jobs.job_options.shared import Yes
from spark_jobs.spec_files.spec_file import load_lake_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseOptions(JobOptions):
    """Who is erased: ``people`` has the key that was given for a role."""

    reads_landing: ClassVar[bool] = True
    grows_by_spec: ClassVar[bool] = True

    people: Mapping[str, str] = field(default_factory=dict)
    give_up: Annotated[
        bool,
        Option(
            "end an erasure that was cut off and cannot be finished where it is; what is left is named (with --yes)"
        ),
    ] = False
    yes: Yes = False

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add an option for each role of the lake that the environment names, then those of the class."""
        try:
            people = load_lake_spec(Settings.from_environment().lake_spec).people
        except LakehouseError as error:
            people = ()  # the run itself would say so; here it must not keep other jobs' help from being shown
            parser.epilog = str(error)
        for each in people:
            flag, text = f"--{each.role.replace('_', '-')}", f"the key of the {each.role} to be erased"
            parser.add_argument(flag, dest=f"{_ROLE}{each.role}", metavar="ID", help=text)
        super(EraseOptions, cls).add_to(parser)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """The options, with the keys that were given by role."""
        people = {
            name.removeprefix(_ROLE): str(value)
            for name, value in values.items()
            if name.startswith(_ROLE) and value not in (None, "")
        }
        return cls(people=people, **{name: value for name, value in values.items() if not name.startswith(_ROLE)})


_ROLE = "role of "
"""What no option's name begins with: a role may be named like one."""
