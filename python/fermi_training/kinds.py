"""Values as their keys have them."""

from __future__ import annotations

import math

from . import scalars
from .keys import Key
from .sentence import Sentence
from .value import Value, is_count


class WrongKind(Exception):
    """A value that is not of its key's kind."""

    def __init__(self, wanted: Sentence) -> None:
        """Keeps what was wanted."""
        super().__init__(wanted)
        self.wanted = wanted


def conform(key: Key, value: Value) -> Value:
    """Gives the value as its key's kind has it, or raises `WrongKind`."""
    found = _of_kind(key, value)
    if found is None:
        raise WrongKind(wanted(key))
    return found


def wanted(key: Key) -> Sentence:
    """Says what a key takes."""
    match key.kind:
        case "flag":
            return Sentence(" true 或 false", "true or false")
        case "count":
            return Sentence(f"不小于 {key.least} 的整数", f"a whole number of at least {key.least}")
        case "up-to":
            return Sentence(f" 0 到 {key.most} 的整数", f"a whole number from 0 to {key.most}")
        case "share":
            return Sentence(" 0 到 1 的数", "a number from 0 to 1")
        case "number":
            return Sentence("不小于 0 的数", "a number of at least 0")
        case "word":
            return Sentence("文本", "a text")
        case "choice":
            return Sentence(f" {'、'.join(key.words)} 之一", f"one of {', '.join(key.words)}")
        case "words":
            return Sentence("文本或文本列表", "a text or a list of texts")
        case "flag-or-word":
            return Sentence("路径、true 或 false", "a path, true or false")
        case _:
            return Sentence("任意值", "anything")


def _of_kind(key: Key, value: Value) -> Value:
    match key.kind:
        case "flag":
            return value if isinstance(value, bool) else None
        case "count" | "up-to":
            fits = is_count(value) and isinstance(value, int) and key.least <= value <= key.most
            return value if fits else None
        case "share":
            share = _number(value)
            return share if share is not None and share <= 1 else None
        case "number":
            return _number(value)
        case "word":
            return value if isinstance(value, str) and value else None
        case "choice":
            return _choice(key.words, value)
        case "words":
            return _words(value)
        case "flag-or-word":
            return value if isinstance(value, bool) or (isinstance(value, str) and value) else None
        case _:
            return value


def _number(value: Value) -> float | None:
    """Takes numbers in quotes too: many readers of YAML take 5e-5 for a text, so files have it so."""
    number = scalars.parse(value) if isinstance(value, str) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    return number if number is not None and math.isfinite(number) and number >= 0 else None


def _choice(words: tuple[str, ...], value: Value) -> str | None:
    """Takes words in any case; a bare `no` has become false."""
    given = "no" if value is False else value
    if not isinstance(given, str) or not given.isascii():
        return None
    return next((word for word in words if word.lower() == given.lower()), None)


def _words(value: Value) -> list[Value] | None:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None
