"""From sections to known keys with values of the right kind."""

from __future__ import annotations

from . import mistakes
from .keys import MAIN, Key, Keys, known
from .kinds import WrongKind, conform
from .mistakes import Mistake, TrainingYamlError
from .nearest import nearest
from .sentence import Sentence
from .value import Value, in_json, same

_SECTION = Sentence("一组键", "keys with values")


def values_of(sections: dict[str, Value]) -> dict[str, Value]:
    """Gives all that a file says, each under its key's first spelling; raises all mistakes at once."""
    reading = _Reading(known())
    reading.section("", sections)
    reading.spellings()
    if reading.mistakes:
        raise TrainingYamlError(reading.mistakes)
    return dict(sorted(reading.values.items()))


class _Reading:
    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.values: dict[str, Value] = {}
        self.mistakes: list[Mistake] = []

    def section(self, above: str, section: dict[str, Value]) -> None:
        for name, value in section.items():
            path = f"{above}.{name}" if above else name
            key = self.keys.at(path)
            if key is not None:
                # A key without a value says nothing.
                if value is not None:
                    self._value(key, path, value)
            elif not self.keys.is_section(path):
                self.mistakes.append(mistakes.unknown_key(path, self._suggestion(above, name)))
            elif isinstance(value, dict):
                self.section(path, value)
            elif value is not None:
                self.mistakes.append(mistakes.wrong_value(path, in_json(value), _SECTION))

    def spellings(self) -> None:
        """Brings both spellings of a thing under the first one."""
        for first, second in self.keys.same:
            if second not in self.values:
                continue
            other = self.values.pop(second)
            value = self.values.setdefault(first, other)
            if not same(value, other):
                self.mistakes.append(mistakes.disagree((first, in_json(value)), (second, in_json(other))))

    def _value(self, key: Key, path: str, given: Value) -> None:
        try:
            value = conform(key, given)
        except WrongKind as wrong:
            self.mistakes.append(mistakes.wrong_value(path, in_json(given), wrong.wanted))
            return
        before = self.values.setdefault(key.path, value)
        if not same(before, value):
            self.mistakes.append(mistakes.disagree((key.path, in_json(before)), (path, in_json(value))))

    def _suggestion(self, above: str, name: str) -> str | None:
        """Finds a key of that very name elsewhere, else the nearest one of the section."""
        elsewhere = next((path for path in self.keys.table if path.endswith(f".{name}")), None)
        in_main = f"{MAIN}.{above}" if above else MAIN
        return elsewhere or self._beside(above, name) or self._beside(in_main, name)

    def _beside(self, section: str, name: str) -> str | None:
        near = nearest(name, self.keys.beside(section))
        return f"{section}.{near}" if near and section else near
