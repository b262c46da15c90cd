"""The ranks that train together: joining, agreeing, leaving."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from .. import environment
from ..environment import Place
from ..messages import Refusal, Text


class World:
    """The process group. Agreements between ranks travel over CPU tensors, so that no GPU is waited for."""

    def __init__(self, place: Place, backend: str, alone: bool = False) -> None:
        """Joins the other ranks; a process without a launcher is a group of one where an engine needs a group."""
        self.place = place
        self.ranks = 1 if alone else place.ranks
        self.rank = 0 if alone else place.rank
        self.has_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", self._gpu()) if self.has_gpu else torch.device("cpu")
        if self.has_gpu:
            torch.cuda.set_device(self.device)
        self.backend = "cpu:gloo,cuda:nccl" if backend == "nccl" and self.has_gpu else "gloo"

    def join(self, needs_group: bool) -> None:
        """Makes the process group where there is more than one rank, or an engine wants one."""
        if dist.is_initialized() or not (needs_group or self.ranks > 1):
            return
        seconds = environment.collective_timeout()
        more: dict[str, Any] = {"timeout": timedelta(seconds=seconds)} if seconds else {}
        if self.ranks == 1:
            for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")):
                os.environ.setdefault(name, value)
            dist.init_process_group(self.backend, store=dist.HashStore(), rank=0, world_size=1, **more)
        else:
            dist.init_process_group(self.backend, **more)

    def sum(self, *numbers: float) -> list[float]:
        """Adds numbers over all ranks."""
        if self.ranks == 1:
            return list(numbers)
        together = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(together)
        return together.tolist()

    def all_agree(self, verdict: bool) -> bool:
        """Says whether every rank says yes."""
        return self.sum(0.0 if verdict else 1.0)[0] == 0.0

    def barrier(self) -> None:
        """Waits for all ranks."""
        if self.ranks > 1:
            dist.all_reduce(torch.zeros(1))

    def gathered(self, value: Any) -> list[Any]:
        """Gives what every rank has, by rank."""
        if self.ranks == 1:
            return [value]
        found: list[Any] = [None] * self.ranks
        dist.all_gather_object(found, value)
        return found

    def check_same(self, value: Any) -> None:
        """Refuses to go on where ranks differ in what all must have."""
        others = self.gathered(hashlib.sha256(repr(value).encode()).hexdigest())
        if len(set(others)) > 1:
            raise Refusal(
                Text("各 rank 的模型不同", "the ranks have different models"),
                Text(
                    "请检查各节点的 model.name_or_path 是否为同一模型，库的版本是否相同",
                    "see whether model.name_or_path is the same model on every node, and libraries of the same version",
                ),
            )

    def leave(self) -> None:
        """Ends the process group."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _gpu(self) -> int:
        return self.place.local_rank % max(torch.cuda.device_count(), 1)
