#!/usr/bin/env python3
"""Writes commands.json: every command line of the documents that specify Fermi, with its document and section.

    python3 tests/specification/extract.py ../shared/seeds/*.txt > tests/specification/commands.json

A command is a line of a block of shell or HTTP, with the lines that continue it and without comments.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

KINDS = {"bash": "shell", "shell": "shell", "sh": "shell", "console": "shell", "http": "http"}


def commands(text: str) -> Iterator[dict[str, str | int]]:
    """Yields the commands of one document."""
    section, fence, begun = "", None, ("", 0)
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("```"):
            fence = None if fence is not None else bare[3:].strip() or "text"
            continue
        if fence is None and line.startswith("#"):
            section = line.lstrip("#").strip()
        kind = KINDS.get(fence or "")
        if kind is None or (not begun[0] and (not bare or bare.startswith("#"))):
            continue
        if kind == "http" and not re.match(r"(GET|POST|PUT|PATCH|DELETE) ", bare):
            continue
        whole = f"{begun[0]} {bare}".strip()
        first = begun[1] or number
        if whole.endswith("\\"):
            begun = (whole[:-1].rstrip(), first)
            continue
        begun = ("", 0)
        yield {"section": section, "line": first, "kind": kind, "command": re.sub(r"\s{2,}#.*$", "", whole)}


def main() -> None:
    found = []
    for path in map(Path, sys.argv[1:]):
        text = path.read_text(encoding="utf-8")
        title = next(line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#"))
        found += [{"document": path.name[:3], "title": title, **command} for command in commands(text)]
    print(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
