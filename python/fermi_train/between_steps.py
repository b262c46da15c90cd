"""What loops of ours do between their steps: draw seeds, save what is due, and end as all ranks agreed. Without torch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from .checkpoints.store import Note, Store
from .data.order import Position
from .messages import Refusal, Text
from .report import logs
from .settings import Run


class _Phases(Protocol):
    def phase(self, step: int, name: str) -> None: ...


def drawn(seed: int, step: int, rank: int) -> int:
    """Gives the seed of what is drawn in a step: the same after a restart, another on every rank."""
    return (seed * 1_000_003 + step * 8_191 + rank) % (1 << 63)


def is_due(strategy: str, every: int, step: int, at_end_of_epoch: bool) -> bool:
    """Says whether something that happens every so often happens after this step."""
    return (strategy == "steps" and step % every == 0) or (strategy == "epoch" and at_end_of_epoch)


def check_steps(total: int, epochs: float, samples: int) -> None:
    """Refuses a run without a step: it would end well and have learned nothing."""
    if total > 0:
        return
    raise Refusal(
        Text(
            f"{samples} 个样本的 {epochs:g} 个轮次中没有一步可训练",
            f"{epochs:g} epochs of {samples} samples have no step to train",
        ),
        Text("请增大 training.num_train_epochs", "give more by training.num_train_epochs"),
    )


def check_loss(loss: float, step: int, precision: str) -> None:
    """Says that a loss is no number; in fp16 a step that overflows is left out, and the next ones are finer."""
    if not math.isfinite(loss) and precision != "fp16":
        logs.training().warning("%s", Text(f"第 {step} 步的损失是 {loss}", f"the loss of step {step} is {loss}"))


class Saver:
    """Saves when it is due, when it is asked for, and at the end."""

    def __init__(
        self,
        run: Run,
        store: Store,
        note: Callable[[int, Position, int], Note],
        write: Callable[[Path], None],
        reporter: _Phases,
        step: int,
    ) -> None:
        """Keeps who writes, and the step that the run begins at, which needs no checkpoint."""
        self._run, self._store, self._note, self._write, self._reporter = run, store, note, write, reporter
        self._saved = step

    def after(self, step: int, position: Position, total: int, at_end_of_epoch: bool, asked: tuple[int, bool]) -> None:
        """Saves after a step, where it is due or `asked` for: the signal to end by, and whether to save now."""
        saving, (ended, saves_now) = self._run.saving, asked
        due = is_due(saving.strategy, saving.steps, step, at_end_of_epoch)
        if due or saves_now or (ended and saving.strategy != "no"):
            self._save(step, position, total)

    def at_end(self, step: int, position: Position, total: int) -> None:
        """Saves what the last steps have learned."""
        if self._saved < step and self._run.saving.strategy != "no":
            self._save(step, position, total)

    def _save(self, step: int, position: Position, total: int) -> None:
        self._reporter.phase(step, "saving")
        began = time.monotonic()
        path = self._store.save(self._note(step, position, total), self._write)
        self._saved, seconds = step, time.monotonic() - began
        logs.training().info("%s", Text(f"已保存 {path}（{seconds:.1f} 秒）", f"saved {path} in {seconds:.1f} s"))


def tell_resumed(step: int, folder: Path) -> None:
    """Says where the run goes on."""
    logs.training().info("%s", Text(f"从第 {step} 步继续（{folder}）", f"goes on from step {step} ({folder})"))


def tell_end(ended: int, step: int, model: Path) -> None:
    """Says how the run has ended, and where the model is."""
    if ended:
        logs.training().info("%s", Text(f"收到信号，已在第 {step} 步停止", f"stopped by a signal at step {step}"))
    else:
        logs.training().info("%s", Text(f"训练完成，模型在 {model}", f"done; the model is in {model}"))
