"""From text to values: YAML as this file understands it."""

from __future__ import annotations

from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from . import mistakes, scalars, tags
from .events import Events
from .mistakes import Mistake, TrainingYamlError
from .value import Value

_DEEPEST = 64
_MOST_VALUES = 250_000


def sections(file: str | bytes) -> dict[str, Value]:
    """Gives the keys at the top of a file, as a text or as it lies on the disk; an empty file has none."""
    try:
        text = file if isinstance(file, str) else file.decode("utf-8")
        document = _Document(text).value()
    except UnicodeDecodeError:
        raise TrainingYamlError([mistakes.not_utf8()]) from None
    except _Refused as refused:
        raise TrainingYamlError([refused.mistake]) from None
    except YAMLError as error:
        raise TrainingYamlError([mistakes.syntax(_in_one_line(error))]) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise TrainingYamlError([mistakes.not_sections()])
    return document


class _Refused(Exception):
    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.line())
        self.mistake = mistake


class _Document:
    """Builds the values of one document from the parser's events, so that no word is read by PyYAML's own rules."""

    def __init__(self, text: str) -> None:
        self._events = Events(text)
        # What an anchor names, and how many values that is; nothing while it is being read.
        self._anchors: dict[str, tuple[Value, int] | None] = {}
        self._count = 0

    def value(self) -> Value:
        self._events.next()
        if isinstance(self._events.next(), StreamEndEvent):
            return None
        value = self._node(self._events.next(), 0)
        self._events.next()
        if not isinstance(self._events.next(), StreamEndEvent):
            raise _Refused(mistakes.several_documents())
        return value

    def _node(self, event: Event, depth: int) -> Value:
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before = self._count
        self._grow(1, event)
        anchor: str | None = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = None
        value = _scalar(event) if isinstance(event, ScalarEvent) else self._collection(event, depth)
        if anchor is not None:
            self._anchors[anchor] = (value, self._count - before)
        return value

    def _collection(self, event: Event, depth: int) -> Value:
        if depth >= _DEEPEST:
            raise _syntax(f"more than {_DEEPEST} sections stand in each other", event)
        is_section = isinstance(event, MappingStartEvent)
        tag = event.tag if isinstance(event, CollectionStartEvent) else None
        if tag is not None and tags.name(tag) not in ("map" if is_section else "seq", ""):
            raise _syntax(f"the tag {tag} does not fit here", event)
        return self._section(depth) if is_section else self._list(depth)

    def _alias(self, event: AliasEvent) -> Value:
        anchor = event.anchor or ""
        known = self._anchors.get(anchor)
        if known is None:
            what = "contains itself" if anchor in self._anchors else "is not known"
            raise _syntax(f"the anchor {anchor} {what}", event)
        value, size = known
        self._grow(size, event)
        return value

    def _grow(self, values: int, event: Event) -> None:
        self._count += values
        if self._count > _MOST_VALUES:
            raise _syntax(f"there are more than {_MOST_VALUES} values", event)

    def _list(self, depth: int) -> list[Value]:
        items: list[Value] = []
        while not isinstance(event := self._events.next(), SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _section(self, depth: int) -> dict[str, Value]:
        own: dict[str, Value] = {}
        merged: list[dict[str, Value]] = []
        while not isinstance(event := self._events.next(), MappingEndEvent):
            if _is_merge(event):
                merged += _mappings(self._node(self._events.next(), depth + 1), event)
                continue
            key = self._key(event)
            if key in own:
                raise _Refused(mistakes.twice(key, _line(event)))
            own[key] = self._node(self._events.next(), depth + 1)
        for mapping in merged:
            for key, value in mapping.items():
                own.setdefault(key, value)
        return own

    def _key(self, event: Event) -> str:
        if isinstance(event, AliasEvent) and isinstance(value := self._alias(event), str):
            return value
        if not isinstance(event, ScalarEvent) or _is_null(event):
            raise _Refused(mistakes.key_not_text())
        if event.tag is not None and not tags.is_text(event.tag):
            raise _syntax(f"the tag {event.tag} does not fit a key", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (event.value, 1)
        return _whole(event.value, event)


def _is_null(event: ScalarEvent) -> bool:
    if event.tag is not None:
        return tags.name(event.tag) == "null"
    return event.style is None and scalars.is_null(event.value)


def _is_merge(event: Event) -> bool:
    if not isinstance(event, ScalarEvent) or event.value != "<<" or event.style is not None:
        return False
    return event.tag is None or event.tag == tags.MERGE


def _mappings(value: Value, event: Event) -> list[dict[str, Value]]:
    given = value if isinstance(value, list) else [] if value is None else [value]
    found = [item for item in given if isinstance(item, dict)]
    if len(found) != len(given):
        raise _syntax("<< takes keys with values, or a list of such", event)
    return found


def _scalar(event: ScalarEvent) -> Value:
    if event.tag is None:
        return scalars.bare(event.value) if event.style is None else _whole(event.value, event)
    try:
        return tags.tagged(event.tag, _whole(event.value, event))
    except ValueError as error:
        raise _syntax(str(error), event) from None


def _whole(text: str, event: Event) -> str:
    """Joins the two halves of a letter that was written as two escapes; a half alone is no text."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _syntax("half of a letter stands alone", event) from None


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


def _syntax(message: str, event: Event) -> _Refused:
    return _Refused(mistakes.syntax(f"{message} at line {_line(event)}"))


def _in_one_line(error: YAMLError) -> str:
    if isinstance(error, ReaderError):
        return f"{error.reason} at position {error.position}"
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem} at line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}"
    return " ".join(str(error).split())
