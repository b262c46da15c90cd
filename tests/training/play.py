"""What the Python reader makes of files, in the words of the shared cases.

Takes a JSON list of `{"path": …}` or `{"text": …}` with `facts` on stdin and gives the list of outcomes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fermi_training import TrainingYamlError, read


def outcome(file: str | bytes, facts: dict[str, Any]) -> dict[str, Any]:
    """Reads one file under these facts."""
    try:
        settings = read(file, deepspeed=facts.pop("deepspeed_file", None), **facts)
    except TrainingYamlError as error:
        return {"mistakes": [mistake(one.path, one.text, one.hint) for one in error.mistakes]}
    return {**settings.to_dict(), "lines": settings.lines()}


def mistake(path: str, text: str, hint: str) -> dict[str, str]:
    """What a parser says is its own, so only that it says something is kept."""
    return {"path": path, "text": "not YAML" if text.startswith("not YAML: ") else text, "hint": hint}


def main() -> None:
    """Plays all that is given."""
    given = json.load(sys.stdin)
    files = (Path(one["path"]).read_bytes() if "path" in one else one["text"] for one in given)
    json.dump([outcome(file, one["facts"]) for file, one in zip(files, given, strict=True)], sys.stdout)


if __name__ == "__main__":
    main()
