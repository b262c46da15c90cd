"""TensorBoard and W&B, by rank 0 alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from ..messages import Refusal, Text


class Tracker(Protocol):
    """Takes numbers by step."""

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """Takes the numbers of a step."""

    def close(self) -> None:
        """Writes what is left."""


class TensorBoard:
    """Writes event files into `tensorboard/` of the run's folder."""

    def __init__(self, folder: Path) -> None:
        """Opens the event file."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"))

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """Writes each number as a scalar."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()


class Wandb:
    """Writes a W&B run; without a key it is an offline one, to be sent by `wandb sync`."""

    def __init__(self, folder: Path, name: str) -> None:
        """Begins the run."""
        import wandb

        if not os.environ.get("WANDB_API_KEY"):
            os.environ.setdefault("WANDB_MODE", "offline")
        self._run: Any = wandb.init(project=os.environ.get("WANDB_PROJECT", "fermi"), name=name, dir=str(folder))

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """Logs the numbers."""
        self._run.log(numbers, step=step)

    def close(self) -> None:
        """Ends the run."""
        self._run.finish()


def trackers_of(names: tuple[str, ...], folder: Path, name: str) -> list[Tracker]:
    """Opens the trackers; one that is not installed is refused before anything starts."""
    made: list[Tracker] = []
    for tracker in names:
        try:
            made.append(TensorBoard(folder) if tracker == "tensorboard" else Wandb(folder, name))
        except ImportError:
            raise Refusal(
                Text(f"没有安装 {tracker}，而 report_to 需要它", f"{tracker} is not installed, but report_to names it"),
                Text(
                    f"请运行 pip install {tracker}，或从 report_to 中删除", f"run pip install {tracker}, or remove it"
                ),
            ) from None
    return made
