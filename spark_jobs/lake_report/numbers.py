"""Numbers as people read them: rounded once, from exact values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

MISSING = "–"
"""In place of a value that is not known."""
_UNITS = ((10**12, "T"), (10**9, "bn"), (10**6, "M"), (10**3, "k"))
_MOST_TICKS = 4


def write_number(value: Fraction | None, digits: int, unit: str = "") -> str:
    """So many digits after the point, halves to the even one, thousands apart; the unit behind it."""
    if value is None:
        return MISSING
    scaled = round(value * 10**digits)
    whole, rest = divmod(abs(scaled), 10**digits)
    sign = "−" if scaled < 0 else ""
    return f"{sign}{whole:,}{f'.{rest:0{digits}}' if digits else ''}{_spaced(unit)}"


def _spaced(unit: str) -> str:
    return unit if unit in ("", "%") else f" {unit}"


def write_short(value: Fraction) -> str:
    """For an axis: 1.5 k instead of 1,500; at most three digits and the unit."""
    size, name = next(((size, name) for size, name in _UNITS if abs(value) >= size), (1, ""))
    text = f"{Decimal(value.numerator) / Decimal(value.denominator * size):.3g}".replace("e+", "e").replace("-", "−")
    return f"{text}{_spaced(name)}"


def ticks_of(low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
    """Round numbers from at most ``low`` to at least ``high``, 0 among them; at least two."""
    low, high = min(low, Fraction(0)), max(high, Fraction(0))
    if low == high:
        return (Fraction(0), Fraction(1))
    step = _step(high - low)
    return tuple(step * at for at in range(low // step, -(-high // step) + 1))


def _step(span: Fraction) -> Fraction:
    """1, 2 or 5 of a power of ten: the smallest that needs few ticks."""
    power = Fraction(1)
    while power * _MOST_TICKS < span:
        power *= 10
    while power * _MOST_TICKS >= span:
        power /= 10
    return next(power * factor for factor in (2, 5, 10) if span <= power * factor * _MOST_TICKS)
