"""What is to be prepared, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .files import files_of


@dataclass(frozen=True)
class Request:
    """What is to be prepared, and how."""

    files: tuple[Path, ...]
    algorithm: str
    format: str | None
    max_length: int
    eval_share: float
    seed: int
    skip_bad: bool = False

    def plain(self) -> dict[str, Any]:
        """Gives it as JSON has it."""
        return {**asdict(self), "files": [str(file) for file in self.files]}


def request_of(
    paths: tuple[str, ...],
    algorithm: str,
    kind: str | None,
    max_length: int,
    eval_share: float = 0.0,
    seed: int = 0,
    skip_bad: bool = False,
) -> Request:
    """Makes a request from what the file says; paths that are not there are refused."""
    return Request(tuple(files_of(paths)), algorithm, kind, max_length, eval_share, seed, skip_bad)
