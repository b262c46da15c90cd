"""Runs a recipe in this process, and says what became of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fermi_train import environment
from fermi_train.reading import read
from fermi_train.trainer import BaseTrainer


class Watched(BaseTrainer):
    """Keeps what a test looks at."""

    last: Any = None

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Remembers itself."""
        super().__init__(*arguments, **more)
        Watched.last = self
        self.every: list[list[int]] = []

    def after_step(self, step: int) -> None:
        """Keeps the samples of each step."""
        self.every.append(self.trained)


def sft(config: Path, kind: type[BaseTrainer] = Watched) -> dict[str, Any]:
    """Trains by SFT; gives the samples of each step, what each rank holds, the losses and gradient norms."""
    from fermi_train.recipes import sft as recipe

    rank = os.environ.get("RANK", "0")
    progress = config.parent / f"progress-{rank}.ndjson"
    os.environ["FERMI_PROGRESS_FILE"] = str(progress)
    code = recipe.train(read(str(config), "sft"), environment.place_here(), kind)
    os.environ.pop("FERMI_PROGRESS_FILE")
    from tiny import lines

    steps = [line for line in lines(progress) if "loss" in line]
    trainer = Watched.last
    return {
        "code": code,
        "trained": trainer.every if trainer else None,
        "held": getattr(trainer, "held", None),
        "loss": [line["loss"] for line in steps],
        "norm": [line["metrics"]["grad_norm"] for line in steps],
        "rate": [line["lr"] for line in steps],
        "steps": [line["step"] for line in steps],
    }
