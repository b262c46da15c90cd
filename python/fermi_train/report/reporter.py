"""Tells every step to all who listen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch

from fermi_training.sentence import in_chinese

from ..environment import Place
from ..folders import Occupied, make
from ..messages import Text
from ..settings import Run
from . import logs
from .progress import Progress, resident
from .trackers import Tracker, trackers_of


@dataclass
class StepReport:
    """The numbers of a step; those of the whole are the same on all ranks."""

    step: int
    total: int
    epoch: float
    loss: float
    rate: float
    grad_norm: float
    tokens: float
    samples: float
    seconds: float
    metrics: dict[str, float] = field(default_factory=dict)


class Reporter:
    """Writes progress on every rank; lines, bar and trackers are rank 0's."""

    def __init__(self, run: Run, place: Place) -> None:
        """Opens logs and trackers, and says what was decided differently from the file."""
        make(run.folder)
        self._folder = Occupied(run.folder) if place.is_first else None
        logs.open_logs(run.folder, place.rank)
        for warning in run.warnings:
            logs.training().warning("%s", Text(in_chinese(warning), warning))
        self._run, self._place = run, place
        self._progress = Progress(place.progress_file)
        self._trackers: list[Tracker] = trackers_of(run.trackers, run.folder, run.name) if place.is_first else []
        self._bar: Any = None

    def begin(self, step: int, total: int) -> None:
        """Shows the bar where rank 0 is on a terminal."""
        if self._place.is_first and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=step, desc=self._run.algorithm, dynamic_ncols=True)

    def phase(self, step: int, name: str) -> None:
        """Tells what is done between steps: preparing, saving, restoring."""
        self._progress.tell(step, phase=name)

    def step(self, report: StepReport) -> None:
        """Tells a step."""
        memory = torch.cuda.memory_allocated() if torch.cuda.is_available() else resident()
        self._progress.tell(
            report.step,
            totalSteps=report.total,
            epoch=report.epoch,
            loss=report.loss,
            lr=report.rate,
            stepTimeS=report.seconds,
            tokensPerS=report.tokens / report.seconds,
            samplesPerS=report.samples / report.seconds,
            memoryBytes=memory,
            metrics={"grad_norm": report.grad_norm, **report.metrics},
        )
        if not self._place.is_first:
            return
        if self._bar is not None:
            self._bar.update(1)
            self._bar.set_postfix(loss=f"{report.loss:.4f}")
        if report.step % self._run.log_steps == 0 or report.step in (1, report.total):
            numbers = self._numbers(report) | {"memory_gb": memory / 1e9}
            logs.training().info(
                "step %d/%d  %s", report.step, report.total, "  ".join(f"{k} {v:.5g}" for k, v in numbers.items())
            )
            self._track(report.step, numbers)

    def evaluated(self, step: int, numbers: dict[str, float]) -> None:
        """Tells the outcome of an evaluation."""
        self._progress.tell(step, metrics=numbers)
        if self._place.is_first:
            logs.training().info("step %d  %s", step, "  ".join(f"{k} {v:.5g}" for k, v in numbers.items()))
            self._track(step, numbers)

    def close(self) -> None:
        """Ends bar and trackers, and leaves the folder; a second time it does nothing."""
        if self._bar is not None:
            self._bar.close()
        trackers, self._trackers = self._trackers, []
        for tracker in trackers:
            _without_disk(tracker.close)
        if self._folder is not None:
            self._folder.leave()

    def _track(self, step: int, numbers: dict[str, float]) -> None:
        for tracker in self._trackers:
            _without_disk(lambda tracker=tracker: tracker.log(step, numbers))

    def _numbers(self, report: StepReport) -> dict[str, float]:
        return {
            "loss": report.loss,
            "lr": report.rate,
            "grad_norm": report.grad_norm,
            "epoch": report.epoch,
            "tokens_per_s": report.tokens / report.seconds,
            "step_time_s": report.seconds,
            **report.metrics,
        }


def _without_disk(write: Callable[[], None]) -> None:
    """A full disk loses numbers; it never stops a training."""
    with suppress(OSError):
        write()
