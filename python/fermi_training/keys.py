"""Every key of the file, from the schema that Fermi writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

MAIN = "training"


@dataclass(frozen=True)
class Key:
    """One key: where it stands, with dots between sections, and what it may be."""

    path: str
    kind: str
    least: int
    most: int
    words: tuple[str, ...]


class Keys:
    """The table of keys, and the pairs that are two spellings of one thing."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Takes the table out of a schema."""
        self.table = {key.path: key for key in _keys("", schema)}
        self.same: list[tuple[str, str]] = [(first, second) for first, second in schema["x-same"]]
        self._sections = {path.rpartition(".")[0] for path in self.table} | {MAIN}
        for path in tuple(self._sections):
            while path := path.rpartition(".")[0]:
                self._sections.add(path)
        self._sections.discard("")

    def at(self, path: str) -> Key | None:
        """Finds the key at a path, also where its section was left out."""
        return self.table.get(path) or self.table.get(f"{MAIN}.{path}")

    def is_section(self, path: str) -> bool:
        """Says whether deeper keys stand below a path."""
        return path in self._sections or f"{MAIN}.{path}" in self._sections

    def first_spelling(self, path: str) -> str | None:
        """Finds the path under which the value of a key is kept."""
        key = self.at(path)
        if key is None:
            return None
        return next((first for first, second in self.same if second == key.path), key.path)

    def beside(self, section: str) -> list[str]:
        """Lists the names of a section's keys and of the sections in it."""
        prefix = f"{section}." if section else ""
        return [path[len(prefix) :].split(".")[0] for path in self.table if path.startswith(prefix)]


@cache
def known() -> Keys:
    """Reads the schema that lies in this package, once."""
    text = resources.files("fermi_training").joinpath("training.schema.json").read_text(encoding="utf-8")
    return Keys(json.loads(text))


def _keys(above: str, section: dict[str, Any]) -> Iterator[Key]:
    for name, what in section["properties"].items():
        if "x-section" in what:
            continue
        path = f"{above}.{name}" if above else name
        if "properties" in what:
            yield from _keys(path, what)
        else:
            words = tuple(what.get("enum", ()))
            yield Key(path, what["x-kind"], what.get("minimum", 0), what.get("maximum", 0), words)
