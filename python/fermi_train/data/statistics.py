"""What samples are like: how many, how long, how much of them is learned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .encoding import Samples


@dataclass
class Statistics:
    """What the samples are like."""

    samples: int = 0
    eval_samples: int = 0
    tokens: int = 0
    learned: int = 0
    longest: int = 0
    cut: int = 0
    lengths: dict[int, int] = field(default_factory=dict)

    def add(self, samples: Samples, max_length: int, is_eval: bool) -> None:
        """Counts samples."""
        if not len(samples):
            return
        name = "eval_samples" if is_eval else "samples"
        setattr(self, name, getattr(self, name) + len(samples))
        self.tokens += len(samples.ids)
        self.learned += int(samples.mask.sum(dtype=np.int64))
        self.cut += int((samples.lengths >= max_length).sum())
        self.longest = max(self.longest, int(samples.lengths.max()))
        # The exponent of a float is the number of bits.
        for bits, count in enumerate(np.bincount(np.frexp(np.maximum(samples.lengths - 1, 0))[1])):
            if count:
                self.lengths[bits] = self.lengths.get(bits, 0) + int(count)

    def merge(self, other: Statistics) -> None:
        """Adds the samples of another part."""
        for name in ("samples", "eval_samples", "tokens", "learned", "cut"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        for bits, count in other.lengths.items():
            self.lengths[bits] = self.lengths.get(bits, 0) + count
