"""Batch sizes that agree: effective = micro x accumulation x ranks."""

from __future__ import annotations

from dataclasses import dataclass

_MOST = 1 << 52


@dataclass(frozen=True)
class Batch:
    """How many samples go where.

    `micro` is what a rank takes in one pass, `accumulation` the passes before each update, `data_parallel` the ranks,
    and `effective` the samples of all of them in one update.
    """

    micro: int
    accumulation: int
    data_parallel: int
    effective: int

    @classmethod
    def of(cls, micro: int, accumulation: int, data_parallel: int) -> Batch | None:
        """Multiplies; gives none where the product passes every bound."""
        effective = micro * accumulation * data_parallel
        return cls(micro, accumulation, data_parallel, effective) if effective <= _MOST else None

    def text(self) -> str:
        """Says it in words."""
        parts = f"{self.micro} x {self.data_parallel} ranks x {self.accumulation} accumulation steps"
        return f"effective batch {self.effective} = {parts}"
