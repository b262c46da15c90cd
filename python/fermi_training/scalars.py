"""What a bare word of YAML means.

Readers of YAML differ here: to PyYAML `5e-5` is a text and `017` is 15. The rules below are those of Fermi itself.
"""

from __future__ import annotations

import re

from .value import Value

_TRUE = frozenset({"true", "yes", "y", "on"})
_FALSE = frozenset({"false", "no", "n", "off"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = (
    (10, re.compile(r"([+-]?)(0|[1-9][0-9]*(?:_[0-9]+)*)")),
    (16, re.compile(r"([+-]?)0[xX]([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)")),
    (8, re.compile(r"([+-]?)0[oO]([0-7]+(?:_[0-7]+)*)")),
    (2, re.compile(r"([+-]?)0[bB]([01]+(?:_[01]+)*)")),
)
# No whole number of 64 bits has more digits than this, whatever its base.
_MOST_DIGITS = 64


def is_null(text: str) -> bool:
    """Says whether a bare word stands for nothing."""
    return text in ("", "~") or text.lower() == "null"


def bare(text: str) -> Value:
    """Gives the value of a word without quotes."""
    if is_null(text):
        return None
    if (flag := as_flag(text)) is not None:
        return flag
    if (whole := as_whole(text)) is not None:
        return whole
    return text if (number := as_number(text)) is None else number


def as_flag(text: str) -> bool | None:
    """Reads true and false in all their spellings."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def as_whole(text: str) -> int | None:
    """Reads a whole number of 64 bits; a zero in front makes it none, since readers differ on its base."""
    for base, form in _WHOLE:
        if found := form.fullmatch(text):
            sign, digits = found.group(1), found.group(2).replace("_", "")
            if len(digits) > _MOST_DIGITS and digits.strip("0"):
                return None
            number = int(digits, base)
            if sign == "-":
                return -number if number <= 1 << 63 else None
            return number if number < 1 << 64 else None
    return None


def as_number(text: str) -> float | str | None:
    """Reads a number; one that no float can hold stays a text, so that it is refused at its key."""
    word = text.lower()
    if word in (".nan", "+.nan", "-.nan"):
        return ".nan"
    if word in (".inf", "+.inf", "-.inf"):
        return "-.inf" if word.startswith("-") else ".inf"
    number = parse(text)
    if number in (float("inf"), float("-inf")):
        return ".inf" if number > 0 else "-.inf"
    return number


def parse(text: str) -> float | None:
    """Reads digits with a point and an exponent, and nothing else that Python takes for a number."""
    return float(text) if _NUMBER.fullmatch(text) else None
