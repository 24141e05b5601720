"""One call of the generator: what was requested, and the plan for it, from the start or continuing an earlier call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.generator.plan import DEFAULT_DAYS, DEFAULT_EVENTS, DEFAULT_TOPIC, Plan, Rates, option_of
from spark_jobs.lake_spec.tables import Nulls

DEFAULT_EVENTS_PER_FILE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one call requests; None is "not given": a default at first, later what the run already has.

    ``events`` are delivered by this call, ``total_events`` by the whole run. ``clock`` is the default of ``end``.
    """

    clock: datetime
    events: int | None = None
    total_events: int | None = None
    seed: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    topic: str = DEFAULT_TOPIC
    is_wrapped: bool | None = None
    has_tombstones: bool | None = None
    nulls: Nulls | None = None
    is_resume: bool = False
    is_gzip: bool = False
    files: int | None = None
    events_per_file: int | None = None

    def __post_init__(self) -> None:
        for name in ("events", "total_events", "files", "events_per_file"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ContractError(f"--{name.replace('_', '-')} {value} must be at least 1")
        if self.files is not None and self.events_per_file is not None:
            raise ContractError("--files and --events-per-file say the same thing; give one of them")

    def new_plan(self) -> Plan:
        """The plan of a run that begins with this call."""
        end = self.end or self.clock
        total = self.total_events or self.events or DEFAULT_EVENTS
        if self.events is not None and self.events > total:
            raise ContractError(f"--events {self.events} is more than --total-events {total}; give a larger total")
        return Plan(
            seed=1 if self.seed is None else self.seed,
            total_events=total,
            start=self.start or end - timedelta(days=DEFAULT_DAYS),
            end=end,
            rates=Rates(**self.rates),
            topic=self.topic,
            is_wrapped=bool(self.is_wrapped),
            has_tombstones=self.has_tombstones is not False,
            nulls=self.nulls or Nulls.UNKNOWN,
        )

    def check_same_run(self, plan: Plan) -> None:
        """ContractError when this call requests another life than the one that it continues."""
        pairs: dict[str, tuple[object, object]] = {
            "seed": (self.seed, plan.seed),
            "start": (self.start, plan.start),
            "wrapped": (self.is_wrapped, plan.is_wrapped),
            "tombstones": (self.has_tombstones, plan.has_tombstones),
            "nulls": (self.nulls, plan.nulls),
        }
        pairs |= {option_of(name): (rate, getattr(plan.rates, name)) for name, rate in self.rates.items()}
        for option, (value, known) in pairs.items():
            if value is not None and value != known:
                raise ContractError(
                    f"--{option} {value} differs from this run's {known}; leave it out, or start again without --resume"
                )

    def same_plan(self, plan: Plan) -> Plan:
        """The unfinished plan itself; ContractError when another length or end is requested."""
        if self.total_events not in (None, plan.total_events) or self.end not in (None, plan.end):
            raise ContractError(
                f"the run of {plan.total_events} events up to {format_clock(plan.end)} is not finished; "
                f"leave --total-events and --end out until it is"
            )
        return plan

    def longer_plan(self, plan: Plan) -> Plan:
        """The finished plan made longer: more events, up to a later end."""
        end = self.end or self.clock
        total = self.total_events or plan.total_events + (self.events or DEFAULT_EVENTS)
        if end - plan.end < timedelta(seconds=1):
            raise ContractError(
                f"all {plan.total_events} events up to {format_clock(plan.end)} are written; go on with a later --end"
            )
        if total <= plan.total_events:
            raise ContractError(
                f"--total-events {total} are written already; give more than {plan.total_events}, or leave it out"
            )
        return replace(plan, total_events=total, end=end)

    def events_of_call(self, *, left: int) -> int:
        """How many events this call delivers when so many are left of the run."""
        if self.events is not None and self.events > left:
            raise ContractError(f"only {left} events are left of this run; give --events {left} or leave it out")
        return self.events or left

    def events_of_file(self, events: int) -> int:
        """How many events go to one file."""
        return -(-events // self.files) if self.files else self.events_per_file or DEFAULT_EVENTS_PER_FILE
