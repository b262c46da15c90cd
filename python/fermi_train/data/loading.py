"""Micro-batches for a rank, padded to their longest sample."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from .arrow import Shards
from .order import NO_SAMPLE, Order, Position, share
from .settings import LoaderSettings

IGNORED = -100


class Collate:
    """Makes tensors of samples; one that is missing is a single token without a label."""

    def __init__(self, pad: int) -> None:
        """Keeps the token that fills up."""
        self._pad = pad

    def __call__(self, samples: list[dict[str, np.ndarray]]) -> dict[str, torch.Tensor]:
        """Pads on the right; `index` says which samples these are."""
        longest = max(len(sample["input_ids"]) for sample in samples)
        ids = torch.full((len(samples), longest), self._pad, dtype=torch.long)
        labels = torch.full((len(samples), longest), IGNORED, dtype=torch.long)
        attention = torch.zeros((len(samples), longest), dtype=torch.long)
        for row, sample in enumerate(samples):
            tokens = torch.from_numpy(sample["input_ids"].astype(np.int64))
            learned = torch.from_numpy(sample["completion_mask"].astype(bool))
            ids[row, : len(tokens)] = tokens
            attention[row, : len(tokens)] = 1
            labels[row, : len(tokens)] = torch.where(learned, tokens, IGNORED)
        index = torch.tensor([int(sample["index"]) for sample in samples])
        return {"input_ids": ids, "attention_mask": attention, "labels": labels, "index": index}


class NumberedSamples(Dataset[Any]):
    """Samples with their numbers; for `NO_SAMPLE` one without anything to learn."""

    def __init__(self, shards: Shards) -> None:
        """Keeps the shards."""
        self._shards = shards

    def __len__(self) -> int:
        """Counts the samples."""
        return len(self._shards)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        """Gives one sample."""
        if index == NO_SAMPLE:
            empty = {"input_ids": np.zeros(1, np.int32), "completion_mask": np.zeros(1, np.int8)}
            return {**empty, "index": np.asarray(NO_SAMPLE)}
        return {**self._shards[index], "index": np.asarray(index)}


@dataclass
class StepBatch:
    """What a rank trains on in one step: its micro-batches, and the position of the data after the step."""

    micro_batches: list[dict[str, torch.Tensor]]
    position: Position


class _MicroBatches:
    """The samples of each micro-batch of a rank, for torch's loader."""

    def __init__(self, order: Order, position: Position, rank: int, ranks: int, micro: int, accumulation: int) -> None:
        self._order, self._position = order, position
        self._place = (rank, ranks, micro, accumulation)

    def __iter__(self) -> Iterator[list[int]]:
        for step, _ in self._order.batches(self._position):
            yield from share(step, *self._place)


class StepLoader:
    """Gives the micro-batches of a rank, step by step, from a position on."""

    def __init__(
        self,
        shards: Shards,
        order: Order,
        place: tuple[int, int],
        batch: tuple[int, int],
        pad: int,
        settings: LoaderSettings,
        collate: Callable[[list[dict[str, np.ndarray]]], dict[str, torch.Tensor]] | None = None,
    ) -> None:
        """Takes rank and ranks, micro-batch and accumulation."""
        self._shards, self._order = shards, order
        self._place, self._batch = place, batch
        self._collate = collate or Collate(pad)
        self._settings = settings

    def steps(self, position: Position) -> Generator[StepBatch, None, None]:
        """Goes on without end; closing the generator ends the loader's processes."""
        settings, (micro, accumulation) = self._settings, self._batch
        sampler = _MicroBatches(self._order, position, *self._place, micro, accumulation)
        workers: dict[str, Any] = {}
        if settings.workers:
            # Not forked: ranks have threads of collectives and of tokenizers by now.
            workers = {
                "multiprocessing_context": "forkserver",
                "worker_init_fn": _deaf,
                "prefetch_factor": settings.prefetch or 2,
            }
        loader = DataLoader(
            NumberedSamples(self._shards),
            batch_sampler=sampler,
            collate_fn=self._collate,
            num_workers=settings.workers,
            pin_memory=settings.pin_memory and torch.cuda.is_available(),
            **workers,
        )
        batches = iter(loader)
        try:
            for _, after in self._order.batches(position):
                yield StepBatch([next(batches) for _ in range(accumulation)], after)
        finally:
            shut_down = getattr(batches, "_shutdown_workers", None)
            if shut_down is not None:
                shut_down()


def _deaf(_: int) -> None:
    """Lets a loader's process outlive signals to its group: the rank saves first, then closes it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
