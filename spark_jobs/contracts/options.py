"""Options of a job, declared once: a frozen dataclass gives the command line, its help, the checks, and DAGs' forms.

A field is an option: ``keep: Annotated[int | None, Option("delete all but the newest N", at_least=1)] = None`` is
``--keep``. Its type is text, a number, an enum, a ``Literal`` (one of these words), ``bool`` (without a value),
``bool | None`` (``--x`` or ``--no-x``) or a tuple. A field without a default is required.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from enum import Enum
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from spark_jobs.contracts.errors import ContractError

ACTION = "action"
"""The field that says what a job does, for jobs that do several things: the first word of their command."""


@dataclass(frozen=True, slots=True)
class Option:
    """What the annotation of a field says of its option."""

    help: str
    """Without its actions, which are put in front."""
    _: KW_ONLY
    flag: str = ""
    """Its name on the command line, where that is not the field's: ``--from``."""
    metavar: str = ""
    actions: tuple[str, ...] = ()
    """The actions that take it; all of them when empty."""
    at_least: int | None = None
    is_positional: bool = False
    is_repeated: bool = False
    """A tuple whose values are given one by one, the option once for each."""
    group: str = ""
    """Options with the same title are shown together."""
    excludes: str = ""
    """Of options with the same word at most one is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionField:
    """A field of a job's options: its option, and what its type says of its values."""

    name: str
    option: Option
    type: type
    """Of one value."""
    choices: tuple[str, ...] = ()
    is_optional: bool = False
    is_many: bool = False
    default: Any = MISSING

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.default is MISSING

    @property
    def word(self) -> str:
        """The option's name as tasks of DAGs have it: the flag, with underscores."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def flag(self) -> str:
        """What is written on the command line."""
        if self.option.is_positional:
            return self.option.metavar or self.name
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def help(self) -> str:
        """The option's text, after the actions that take it."""
        return f"{', '.join(self.option.actions)}: {self.option.help}" if self.option.actions else self.option.help

    def to_argument(self) -> tuple[str, dict[str, Any]]:
        """Name and settings for argparse's ``add_argument``."""
        name = self.name if self.option.is_positional else self.flag
        settings: dict[str, Any] = {"help": self.help}
        if not self.option.is_positional:
            settings |= {"dest": self.name, "required": self.is_required}
        if not self.is_required:
            settings["default"] = None if self.option.is_repeated else self.default  # argparse adds to a default
        if self.type is bool:
            return name, settings | {"action": argparse.BooleanOptionalAction if self.is_optional else "store_true"}
        if self.is_many:
            settings |= {"action": "append"} if self.option.is_repeated else {"nargs": "+" if self.is_required else "*"}
        if self.choices:
            settings["choices"] = self.choices
        elif self.option.metavar:
            settings["metavar"] = self.option.metavar
        return name, settings | ({} if issubclass(self.type, str | Enum) else {"type": self.type})

    def value_of(self, given: Any) -> Any:
        """What argparse, a form or a test gave, as the field's type; an empty text counts as not given."""
        if given == "" and isinstance(self.default, str):
            return self.default
        if self.is_many:
            return (given,) if isinstance(given, str) else tuple(given or ())
        return self.type(given) if issubclass(self.type, Enum) and given is not None else given


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """The options of a job; what a subclass adds are fields, and what the entry point has to know before it runs."""

    takes_interval: ClassVar[bool] = False
    """A backfill gives the job the dates that it is for."""
    takes_any_clock: ClassVar[bool] = False
    """It changes no table: what it prints or makes may be of a time that has not come yet."""
    is_of_a_lake: ClassVar[bool] = True
    """False for a job that works before there is a lake, or that reads the spec itself."""
    names_lake: ClassVar[bool] = False
    """It writes: a lake of an earlier release gets its name from it."""
    reads_landing: ClassVar[bool] = False
    """Without its landing folder it would find nothing, and report that of all of it."""
    leaves_session: ClassVar[bool] = False
    """When it has ended well its session is as it found it, and the next run may go on with it."""
    grows_by_spec: ClassVar[bool] = False
    """The lake spec adds options to those of the class."""

    def __post_init__(self) -> None:
        declared = tuple(declared_options(type(self)))
        for each in declared:
            value, least = getattr(self, each.name), each.option.at_least
            if least is not None and value is not None and value < least:
                raise ContractError(f"{each.flag} {value} must be at least {least}")
        self._check_action(declared)

    def _check_action(self, declared: tuple[OptionField, ...]) -> None:
        """Refuse an option of another action: it would be ignored."""
        action = getattr(self, ACTION, None)
        for each in declared:
            actions = each.option.actions
            if action and actions and action not in actions and getattr(self, each.name) != each.default:
                raise ContractError(f"{action} takes no {each.flag}, an option of {' and '.join(sorted(actions))}")

    @property
    def reads_spec(self) -> bool:
        """Whether the job, or this action of it, reads the lake spec."""
        return self.is_of_a_lake

    @property
    def needs_lake(self) -> bool:
        """Whether the lake has to be at its path; False where files of the spec are enough."""
        return self.reads_spec

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add these options to the command line of the job."""
        groups: dict[str, Any] = {}
        for each in declared_options(cls):
            title, excludes = each.option.group, each.option.excludes
            if excludes and excludes not in groups:
                groups[excludes] = parser.add_mutually_exclusive_group()
            if title and title not in groups:
                groups[title] = parser.add_argument_group(title)
            name, settings = each.to_argument()
            groups.get(excludes or title, parser).add_argument(name, **settings)

    @classmethod
    def of_spec(cls) -> tuple[tuple[str, str, str], ...]:
        """What the lake spec adds, of each the name of its value, its flag and its text."""
        return ()

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """The options by their fields' names, as argparse, a form or a test has them.

        Raises:
            ContractError: they do not fit together.
        """
        known = {each.name: each for each in declared_options(cls)}
        return cls(**{name: known[name].value_of(value) for name, value in values.items()})


def declared_options(options: type[JobOptions]) -> Iterator[OptionField]:
    """Every option of a class, in the order of its fields."""
    hints = get_type_hints(options, include_extras=True)
    for each in fields(options):
        if get_origin(hint := hints[each.name]) is Annotated:
            kind, option = get_args(hint)[:2]
            yield _declared(each.name, kind, option, each.default)


def _declared(name: str, kind: Any, option: Option, default: Any) -> OptionField:
    is_optional = get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)
    if is_optional:
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    if is_many := get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    choices: tuple[str, ...] = ()
    if get_origin(kind) is Literal:
        choices, kind = get_args(kind), str
    elif issubclass(kind, Enum):
        choices = tuple(each.value for each in kind)
    return OptionField(
        name=name,
        option=option,
        type=kind,
        choices=choices,
        is_optional=is_optional,
        is_many=is_many,
        default=default,
    )
