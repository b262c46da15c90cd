"""Signals that ask for a checkpoint: kept until the end of a step, where all ranks agree on them."""

from __future__ import annotations

import signal
from types import FrameType


class Stop:
    """What was asked of this process. SIGTERM and SIGINT end the run after a checkpoint, another one may save alone."""

    def __init__(self, checkpoint_signal: str | None) -> None:
        """Takes over the signals; the ones before come back with `close`."""
        self.signal = 0
        self.saves = False
        self._before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        if checkpoint_signal and hasattr(signal, checkpoint_signal):
            number = getattr(signal, checkpoint_signal)
            self._before[number] = signal.signal(number, self._save)

    def _end(self, number: int, _: FrameType | None) -> None:
        self.signal = number

    def _save(self, _: int, __: FrameType | None) -> None:
        self.saves = True

    def take(self) -> tuple[float, float]:
        """Gives the signal to end by, and 1 to save: once, so that what is asked while ranks agree waits for the next step."""
        if not self.saves:
            return float(self.signal), 0.0
        self.saves = False
        return float(self.signal), 1.0

    def close(self) -> None:
        """Gives the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
