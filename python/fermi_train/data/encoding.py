"""Tokens of many rows at once, in arrays: what is done for each row or token in Python costs more than tokenising it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .problems import RowProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

    Numbers = NDArray[Any]

# A stretch of text, and whether it is learned.
Stretch = tuple[str, bool]


@dataclass(frozen=True)
class Samples:
    """The tokens of some rows end to end, which of them are learned, and the length of each row."""

    ids: Numbers
    mask: Numbers
    lengths: Numbers

    def __len__(self) -> int:
        """Counts the rows."""
        return len(self.lengths)

    def learned(self, skipped: int = 0) -> Numbers:
        """Counts the learned tokens of each row behind its first `skipped`."""
        before = np.concatenate(([0], np.cumsum(self.mask, dtype=np.int64)))
        ends = np.cumsum(self.lengths)
        starts = ends - self.lengths
        return before[ends] - before[np.minimum(starts + skipped, ends)]

    def only(self, rows: Numbers) -> Samples:
        """Gives some of the rows, by true or false for each."""
        if rows.all():
            return self
        tokens = np.repeat(rows, self.lengths)
        return Samples(self.ids[tokens], self.mask[tokens], self.lengths[rows])

    def cut_at(self, most: int) -> Samples:
        """Gives at most so many tokens of each row."""
        if not (self.lengths > most).any():
            return self
        starts = np.cumsum(self.lengths) - self.lengths
        tokens = np.arange(len(self.ids)) - np.repeat(starts, self.lengths) < most
        return Samples(self.ids[tokens], self.mask[tokens], np.minimum(self.lengths, most))


class Encoder:
    """Turns stretches of text into tokens; the Rust tokenizer is called once for a whole batch of rows."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int) -> None:
        """Takes the tokenizer of the model."""
        self._tokenizer = tokenizer
        self._fast = getattr(tokenizer, "backend_tokenizer", None)
        if self._fast is not None:
            self._fast.no_truncation()
            self._fast.no_padding()
        self.max_length = max_length
        bos: Any = tokenizer.bos_token_id
        adds = tokenizer("a", add_special_tokens=True)["input_ids"]
        self._begin: list[int] = [bos] if bos is not None and list(adds)[:1] == [bos] else []

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Gives the tokens of texts, without any that the tokenizer would add around them."""
        if not texts:
            return []
        if self._fast is not None:
            return [made.ids for made in self._fast.encode_batch_fast(texts, add_special_tokens=False)]
        return [list(ids) for ids in self._tokenizer(texts, add_special_tokens=False)["input_ids"]]

    def learnable(self, rows: list[list[Stretch]]) -> tuple[Samples, dict[int, RowProblem]]:
        """Gives the rows cut at `max_length`; of those in which nothing is learned, by their place, the problem."""
        whole = self._whole(rows)
        samples = whole.cut_at(self.max_length)
        # The first token is given, not predicted.
        is_good = samples.learned(skipped=1) > 0
        bad = {
            int(place): RowProblem("nothing_to_learn", f"{whole.lengths[place]} > {self.max_length}")
            for place in np.flatnonzero(~is_good)
        }
        return samples.only(is_good), bad

    def _whole(self, rows: list[list[Stretch]]) -> Samples:
        encoded = self.ids([text for row in rows for text, _ in row])
        parts = np.fromiter(map(len, encoded), np.int64, len(encoded))
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = _row(encoded)
        learned = np.fromiter((learned for row in rows for _, learned in row), np.int8, len(encoded))
        before = np.concatenate(([0], np.cumsum(parts)))
        ends = np.cumsum(counts)
        samples = Samples(ids, np.repeat(learned, parts), before[ends] - before[ends - counts])
        return self._begun(samples) if self._begin else samples

    def _begun(self, samples: Samples) -> Samples:
        """Puts the token before each row that the tokenizer begins texts with."""
        starts = np.cumsum(samples.lengths) - samples.lengths
        ids = np.insert(samples.ids, starts, np.int32(self._begin[0]))
        return Samples(ids, np.insert(samples.mask, starts, np.int8(0)), samples.lengths + 1)


def _row(lists: list[list[int]]) -> Numbers:
    """Puts lists of tokens end to end; quicker than an iterator over all of them."""
    row = array("i")
    for numbers in lists:
        row.fromlist(numbers)
    return np.frombuffer(row, np.int32)
