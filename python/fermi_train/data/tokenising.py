"""From a piece of a file to the samples of it: one process does this for one piece at a time."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrow import ShardWriter
from .checked import TOLD, checked
from .encoding import Encoder, Samples, Stretch
from .files import Piece
from .problems import BadRow
from .request import Request
from .rows import Row, rows_of
from .statistics import Statistics
from .templates import Templates

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Rows that are tokenised in one call, few enough to stay in the processor's cache; and rows that are written in one batch.
_TOGETHER, _WRITTEN = 128, 4096


@dataclass
class Part:
    """What came of one piece."""

    lines: int = 0
    bad: list[BadRow] = field(default_factory=list)
    bad_count: int = 0
    statistics: Statistics = field(default_factory=Statistics)

    def leave_out(self, row: BadRow) -> None:
        """Keeps a row that is wrong, as long as it will be told."""
        self.bad_count += 1
        if len(self.bad) < TOLD:
            self.bad.append(row)


class Tokenising:
    """Writes the samples of pieces into a folder."""

    def __init__(
        self, request: Request, tokenizer: PreTrainedTokenizerBase, expected: str | None, folder: Path
    ) -> None:
        """Takes the format that all rows have to have."""
        self._request, self._expected, self._folder = request, expected, folder
        self._templates, self._encoder = Templates(tokenizer), Encoder(tokenizer, request.max_length)

    def piece(self, index: int, piece: Piece) -> Part:
        """Tokenises a piece into the shards of that number."""
        with _no_collector():
            shards = _Shards(self._folder, index, self._request)
            part = Part(statistics=shards.statistics)
            rows: list[Row] = []
            stretches: list[list[Stretch]] = []
            for row in rows_of(piece):
                found = checked(row, self._expected, self._request.algorithm)
                if isinstance(found, BadRow):
                    part.leave_out(found)
                    continue
                assert isinstance(row, Row)
                rows.append(row)
                stretches.append(self._templates.segments(_as_sft(found[1])))
                if len(rows) >= _TOGETHER:
                    self._encode(rows, stretches, shards, part)
                    rows, stretches = [], []
            self._encode(rows, stretches, shards, part)
            shards.close()
        part.lines = piece.lines()
        part.bad.sort(key=lambda row: row.line)
        return part

    def _encode(self, rows: list[Row], stretches: list[list[Stretch]], shards: _Shards, part: Part) -> None:
        samples, problems = self._encoder.learnable(stretches)
        for place, problem in problems.items():
            part.leave_out(BadRow(rows[place].line, problem.reason, problem.detail))
        shards.add(samples, [row for place, row in enumerate(rows) if place not in problems] if problems else rows)


class _Shards:
    """The samples of a piece on the two sides of the split."""

    def __init__(self, folder: Path, index: int, request: Request) -> None:
        self._request = request
        self._train, self._aside = (_Shard(folder / f"{side}-{index:06d}.arrow") for side in ("train", "eval"))
        self.statistics = Statistics()

    def add(self, samples: Samples, rows: list[Row]) -> None:
        longest, share = self._request.max_length, self._request.eval_share
        if share <= 0:
            self.statistics.add(samples, longest, is_eval=False)
            self._train.add(samples)
            return
        aside = np.fromiter((is_eval(row.raw, self._request.seed, share) for row in rows), bool, len(rows))
        for shard, chosen, is_aside in ((self._train, ~aside, False), (self._aside, aside, True)):
            some = samples.only(chosen)
            self.statistics.add(some, longest, is_aside)
            shard.add(some)

    def close(self) -> None:
        self._train.close()
        self._aside.close()


class _Shard:
    """Samples that are written in batches; no file where there are none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: ShardWriter | None = None
        self._waiting: list[Samples] = []
        self._count = 0

    def add(self, samples: Samples) -> None:
        if len(samples):
            self._waiting.append(samples)
            self._count += len(samples)
        if self._count >= _WRITTEN:
            self._flush()

    def close(self) -> None:
        if self._waiting:
            self._flush()
        if self._writer:
            self._writer.close()

    def _flush(self) -> None:
        self._writer = self._writer or ShardWriter(self._path, {"input_ids": "int32", "completion_mask": "int8"})
        ids = np.concatenate([samples.ids for samples in self._waiting])
        mask = np.concatenate([samples.mask for samples in self._waiting])
        lengths = np.concatenate([samples.lengths for samples in self._waiting])
        self._writer.write({"input_ids": ids, "completion_mask": mask}, lengths)
        self._waiting, self._count = [], 0


def is_eval(raw: bytes, seed: int, share: float) -> bool:
    """Decides by the row's own bytes, so that equal rows go to one side and new rows move no old one."""
    if share <= 0:
        return False
    drawn = int.from_bytes(hashlib.blake2b(raw, digest_size=8, key=str(seed).encode()).digest(), "big")
    return drawn < share * 2**64


def _as_sft(row: dict[str, Any]) -> dict[str, Any]:
    """Gives what a row of another algorithm is counted and shown by: the preferred answer, or the prompt."""
    if "chosen" in row:
        return {"prompt": row["prompt"], "completion": row["chosen"]}
    if "text" in row or "messages" in row or "completion" in row:
        return row
    prompt = row["prompt"]
    return {"text": prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)}


@contextmanager
def _no_collector() -> Generator[None]:
    """Millions of lists without a cycle are no work for the collector."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
