"""What a value of the file can be, and how it is written in a sentence."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TypeAlias, Union

Value: TypeAlias = Union[bool, int, float, str, "list[Value]", "dict[str, Value]", None]


def is_count(value: Value) -> bool:
    """Says whether a value is a whole number that is not negative; Python takes flags for numbers, YAML does not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def same(one: Value, other: Value) -> bool:
    """Compares two values without taking 1, 1.0 and true for one thing."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def in_json(value: Value) -> str:
    """Writes a value on one line, digit by digit as Fermi does."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{in_json(key)}:{in_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(in_json, value)) + "]"
    if isinstance(value, float):
        return _float(value)
    return json.dumps(value, ensure_ascii=False)


def in_digits(number: float) -> str:
    """Writes a number without an exponent: 0.00005 rather than 5e-05."""
    digits = format(Decimal(repr(number)), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _float(number: float) -> str:
    """Writes exponents below -5 and above 15 only, and every other number with a point."""
    shortest = Decimal(repr(number)).normalize()
    exponent = shortest.adjusted()
    if number == 0 or -5 <= exponent <= 15:
        digits = format(shortest, "f")
        return digits if "." in digits else digits + ".0"
    sign, figures, _ = shortest.as_tuple()
    first, rest = figures[0], "".join(map(str, figures[1:]))
    mantissa = f"{'-' if sign else ''}{first}" + (f".{rest}" if rest else "")
    return f"{mantissa}e{exponent:+d}"
