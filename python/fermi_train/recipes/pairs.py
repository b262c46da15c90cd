"""What RM and DPO share beyond `with_trl`: pairs are tokenised once, and each counts alike in an evaluation."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..data.prepare import LOCK, locked
from ..folders import make, replaced, without_drafts
from .with_trl import Rows


def of_pairs(kind: type[Any], rows: Rows, folder: Path) -> type[Any]:
    """Gives a trainer of TRL's that keeps the tokens of its pairs below `folder`, for all ranks and later runs."""
    import trl

    # Ranks that wait for the first one in a collective give up on it while it tokenises much.
    sys.modules[kind.__module__].global_then_local_main_first = nullcontext  # pyright: ignore[reportAttributeAccessIssue]

    class Pairs(kind):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            self._weights: list[int] = []
            super().__init__(*arguments, **more)

        def _prepare_dataset(self, dataset: Any, tokenizer: Any, args: Any, name: str) -> Any:
            """One rank works behind a lock, the others wait at it."""
            from datasets import load_from_disk

            mark = rows.fingerprint if name == "train" else rows.evaluated
            target = folder / f"{mark}-{kind.__name__}-{trl.__version__}-{name}"
            make(folder)
            with locked(folder / f".{target.name}{LOCK}"):
                if not target.is_dir():
                    without_drafts(folder, LOCK)
                    with replaced(target) as draft:
                        super()._prepare_dataset(dataset, tokenizer, args, name).save_to_disk(draft)
            return load_from_disk(target)

        def get_eval_dataloader(self, *given: Any) -> Any:
            """Evaluates on all rows, whatever training leaves out."""
            drops, self.args.dataloader_drop_last = self.args.dataloader_drop_last, False
            try:
                return super().get_eval_dataloader(*given)
            finally:
                self.args.dataloader_drop_last = drops

        def prediction_step(self, *arguments: Any, **more: Any) -> Any:
            """Counts the rows of a batch over all ranks, without those that fill up the last one."""
            state, full = self.accelerator.gradient_state, self.args.eval_batch_size * self.accelerator.num_processes
            is_short = state.end_of_dataloader and state.remainder > 0
            self._weights.append(state.remainder if is_short else full)
            return super().prediction_step(*arguments, **more)

        def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
            """Takes the mean over rows: to TRL a last batch of one row is as much as a full one."""
            if not self.model.training and self._weights:
                found: dict[str, list[float]] = self._metrics["eval"]
                for name, values in found.items():
                    if len(values) == len(self._weights):
                        found[name] = [mean(values, self._weights)]
                self._weights.clear()
            super().log(logs, start_time)

    Pairs.__name__ = kind.__name__
    return Pairs


def mean(values: list[float], weights: list[int]) -> float:
    """Gives the mean of values that stand for so many rows each."""
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
