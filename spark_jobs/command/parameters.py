"""The options of a command: a function signature for typer, made from the job's own options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich.markup import escape

from spark_jobs.command.grammar import Asks, Verb
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.options import ACTION, JobOptions, OptionField, declared_options
from spark_jobs.job_options.registry import options_of

YES, JSON, VERBOSE, CLOCK = "yes", "as_json", "verbose", "clock"
START, END = "interval_start", "interval_end"
OF_THE_COMMAND = frozenset({JSON, VERBOSE, CLOCK, START, END})
"""Parameters that are no option of the job."""
_ONE_OF: Any = Literal
_MANY: Any = list


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The signature of a command, and the option's name in the job of each parameter that is called otherwise."""

    signature: inspect.Signature
    names: Mapping[str, str]


def fields_of(verb: Verb) -> list[OptionField]:
    """The job's options that this command has: those of its action, without what another command has."""
    return [
        each
        for each in declared_options(options_of(verb.job))
        if each.name != ACTION
        and each.name not in verb.left_out
        and (not each.option.actions or verb.action in each.option.actions)
    ]


def parameters_of(verb: Verb, *, with_spec: bool) -> Parameters:
    """What the command takes. Options that the lake spec adds are there ``with_spec``, which reads it."""
    options, fields = options_of(verb.job), fields_of(verb)
    made = [_parameter(each, verb) for each in fields]
    names: dict[str, str] = {}
    for name, flag, text in _of_spec(options) if with_spec else ():
        parameter = re.sub(r"\W", "_", name)
        names[parameter] = name
        made.append(_option(parameter, str | None, None, flag, help=text, metavar="ID"))
    if verb.asks is Asks.LOOK and YES not in {each.name for each in fields}:
        made.append(_option(YES, bool, False, "--yes", help="do it; by default it is only shown"))
    made += _common(options)
    return Parameters(
        signature=inspect.Signature(sorted(made, key=lambda each: each.default is not each.empty)), names=names
    )


def _of_spec(options: type[JobOptions]) -> tuple[tuple[str, str, str], ...]:
    try:
        return options.of_spec()
    except LakehouseError:
        return ()  # the run itself says so


def _common(options: type[JobOptions]) -> Iterator[inspect.Parameter]:
    yield _option(JSON, bool, False, "--json", help="the result as JSON, and nothing else, on standard output")
    yield _option(VERBOSE, bool, False, "--verbose", help="every step, on standard error")
    yield _option(CLOCK, str, "", "--clock", help="the run's clock, ISO 8601 (default: now)", metavar="TIME")
    if options.takes_interval:
        yield _option(START, str, "", "--interval-start", help="first event time of a backfill", metavar="TIME")
        yield _option(END, str, "", "--interval-end", help="end of a backfill, exclusive", metavar="TIME")


def _option(name: str, kind: Any, default: Any, *flags: str, **settings: Any) -> inspect.Parameter:
    settings["help"] = escape(settings["help"])
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=kind,
        default=typer.Option(default, *flags, show_default=False, **settings),
    )


def _parameter(field: OptionField, verb: Verb) -> inspect.Parameter:
    """One option, or the argument of the command."""
    metavar = field.option.metavar or field.name.upper()
    text = _text(field)
    if field.name == verb.argument or field.option.is_positional:
        kind = list[str] if field.is_many else str
        argument = typer.Argument(..., help=escape(text), metavar=metavar, show_default=False)
        return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=argument)
    default = ... if field.is_required else verb.defaults.get(field.name, field.default)
    if field.type is bool:
        flags = f"{field.flag}/--no-{field.flag.removeprefix('--')}" if field.is_optional else field.flag
        return _option(field.name, bool | None if field.is_optional else bool, default, flags, help=text)
    value: Any = _ONE_OF[field.choices] if field.choices else field.type
    if field.is_many:
        default = ... if field.is_required else list(field.default)
        return _option(field.name, _MANY[value], default, field.flag, help=text, metavar=_shown(metavar, field))
    return _option(
        field.name,
        value | None if default is None else value,
        default,
        field.flag,
        help=text,
        metavar=_shown(metavar, field),
    )


def _shown(metavar: str, field: OptionField) -> str | None:
    """Choices show themselves."""
    return None if field.choices else metavar


def _text(field: OptionField) -> str:
    """The option's own text; of several values how they are given."""
    return f"{field.option.help}; several: the option once for each" if field.is_many else field.option.help
