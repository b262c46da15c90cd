"""Values that say of what type they are, such as `!!str 5`."""

from __future__ import annotations

import base64
import binascii

from . import scalars
from .value import Value

_CORE = "tag:yaml.org,2002:"
MERGE = f"{_CORE}merge"


def name(tag: str) -> str:
    """Gives the bare name of a tag; it is empty for `!`, which means a text."""
    return tag.removeprefix(_CORE).removeprefix("!")


def is_text(tag: str) -> bool:
    """Says whether a tag makes a text of anything."""
    return name(tag) in ("str", "")


def tagged(tag: str, text: str) -> Value:
    """Reads a text as its tag has it; `ValueError` where it does not fit."""
    word = text.strip(" \t\r\n")
    value: Value = None
    match name(tag):
        case "str" | "":
            return text
        case "null":
            return None
        case "bool":
            value = scalars.as_flag(word)
        case "int":
            value = scalars.as_whole(word)
        case "float":
            value = scalars.as_number(word)
        case "binary":
            value = _binary(text)
        case _:
            pass
    if value is None:
        raise ValueError(f"the tag {tag} does not fit {text}")
    return value


def _binary(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
