"""FERMI_PROGRESS_FILE: a line for every step, of every rank."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any


class Progress:
    """Appends lines, each written at once. Without a file it says nothing."""

    def __init__(self, path: Path | None) -> None:
        """Takes the file that the launcher named."""
        self._path = path

    def tell(self, step: int, **more: Any) -> None:
        """Writes a line; what is none or no number is left out."""
        if self._path is None:
            return
        line: dict[str, Any] = {"time": time.time(), "step": step}
        for name, value in more.items():
            if value is not None and not (isinstance(value, float) and value != value):
                line[name] = value
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError:
            # A full disk loses lines; it never stops a training.
            return


def resident() -> int:
    """Counts the bytes of memory that this process has."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0
