"""The order of samples: a function of seed, epoch and position, never of ranks, workers or restarts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# Stands in a batch where no sample is left; it has no label and weighs nothing.
NO_SAMPLE = -1


@dataclass(frozen=True)
class Position:
    """Up to where the data has been trained on: `offset` samples of an epoch."""

    epoch: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Order:
    """The samples of all steps, for all ranks."""

    samples: int
    effective: int
    seed: int
    drop_last: bool = False

    def permutation(self, epoch: int) -> np.ndarray:
        """Gives the samples of an epoch."""
        return np.random.Generator(np.random.PCG64([self.seed, epoch])).permutation(self.samples)

    def steps_from(self, position: Position, epochs: float) -> int:
        """Counts the steps that are left."""
        whole, part = int(epochs), epochs % 1.0
        last = int(self.samples * part)
        if position.epoch > whole:
            return 0
        if position.epoch == whole:
            return self._steps_of(last - position.offset)
        later = (whole - position.epoch - 1) * self._steps_of(self.samples)
        return self._steps_of(self.samples - position.offset) + later + self._steps_of(last)

    def _steps_of(self, samples: int) -> int:
        left = max(samples, 0)
        return left // self.effective if self.drop_last else -(-left // self.effective)

    def batches(self, position: Position) -> Iterator[tuple[np.ndarray, Position]]:
        """Gives the samples of each step, and the position after it, without end."""
        epoch, offset = position.epoch, position.offset
        while True:
            samples = self.permutation(epoch)
            while offset < self.samples:
                step = samples[offset : offset + self.effective]
                offset += len(step)
                if len(step) < self.effective and self.drop_last:
                    break
                at_end = offset >= self.samples
                at_end = at_end or (self.drop_last and self.samples - offset < self.effective)
                yield step, Position(epoch + 1, 0) if at_end else Position(epoch, offset)
            epoch, offset = epoch + 1, 0


def share(step: np.ndarray, rank: int, ranks: int, micro: int, accumulation: int) -> list[list[int]]:
    """Gives the micro-batches of a rank in one step; what is missing in a short last step is `NO_SAMPLE`."""
    full = np.full(micro * accumulation * ranks, NO_SAMPLE, dtype=np.int64)
    full[: len(step)] = step
    return [[int(one) for one in full.reshape(accumulation, ranks, micro)[turn, rank]] for turn in range(accumulation)]
