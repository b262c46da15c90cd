"""What ranks say to each other: averages of gradients, their compression, and how long it takes."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel


def is_reduced_by_wrapper(model: nn.Module) -> bool:
    """Says whether the model's own wrapper averages gradients."""
    return isinstance(model, DistributedDataParallel | FSDPModule)


def average_gradients(model: nn.Module) -> None:
    """Averages every gradient over all ranks: it is the gradients that must be reduced, not the loss."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def compress(model: DistributedDataParallel) -> None:
    """Lets DDP send gradients in 16 bits: half the bytes, a little rounding."""
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)


def time_of_all_reduce(megabytes: float, times: int = 5) -> float:
    """Measures the seconds that the sum of so many bytes over all ranks takes."""
    tensor = torch.ones(int(megabytes * 1e6 / 4))
    dist.all_reduce(tensor)
    began = time.perf_counter()
    for _ in range(times):
        dist.all_reduce(tensor)
    return (time.perf_counter() - began) / times
