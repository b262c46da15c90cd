"""The learning rate as a function of the step: there is no state to save."""

from __future__ import annotations

import math

SCHEDULES = ("linear", "cosine", "constant", "constant_with_warmup", "polynomial", "inverse_sqrt")


def factor(schedule: str, step: int, total: int, warmup: int) -> float:
    """Gives the share of the full rate in a step; steps count from 0."""
    if step < warmup and schedule != "constant":
        return (step + 1) / (warmup + 1)
    done = min((step - warmup) / max(total - warmup, 1), 1.0)
    match schedule:
        case "linear" | "polynomial":
            return 1.0 - done
        case "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * done))
        case "inverse_sqrt":
            return 1.0 / math.sqrt(max(step - warmup, 0) / max(warmup, 1) + 1)
        case _:
            return 1.0


def warmup_steps(steps: int, ratio: float, total: int) -> int:
    """Counts the steps with a rising rate: their number, else that share of all."""
    return steps or math.ceil(ratio * total)
