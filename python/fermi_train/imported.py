"""What a person has written: a class or a function, named as `module:name`."""

from __future__ import annotations

import importlib
import sys
from typing import Any


class NotImported(Exception):
    """A name that leads nowhere, in the words of Python."""


def imported(name: str) -> Any:
    """Imports it, from the folder that the user stands in too; raises `NotImported`."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise NotImported(str(error)) from None
