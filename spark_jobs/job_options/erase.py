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
            for name, flag, text in cls.of_spec():
                parser.add_argument(flag, dest=name, metavar="ID", help=text)
        except LakehouseError as error:
            parser.epilog = str(error)  # the run itself would say so; other jobs' help must be shown all the same
        super(EraseOptions, cls).add_to(parser)

    @classmethod
    def of_spec(cls) -> tuple[tuple[str, str, str], ...]:
        """Of each role of the lake that the environment names: the name of its value, its flag, its text.

        Raises:
            LakehouseError: the lake spec cannot be read.
        """
        roles = [each.role for each in load_lake_spec(Settings.from_environment().lake_spec).people]
        return tuple(
            (f"{_ROLE}{role}", f"--{role.replace('_', '-')}", f"the key of the {role} to be erased") for role in roles
        )

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
