"""The functions that the notebooks run on several ranks; they are here so that new processes can import them."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from .communication import time_of_all_reduce
from .distributed_utils import distributed_train_loop, join, setup_fsdp_model


def tiny_model(seed: int = 0) -> Any:
    """Makes a language model of two layers with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(vocab_size=128, **shape))


def batches(count: int, rank: int, world: int, size: int = 8) -> list[dict[str, torch.Tensor]]:
    """Gives this rank's part of each batch: sequences that count up."""
    made = []
    for step in range(count):
        start = torch.randint(0, 100, (size, 1), generator=torch.Generator().manual_seed(step))
        ids = (start + torch.arange(16)) % 128
        own = ids[rank::world]
        made.append({"input_ids": own, "labels": own})
    return made


def sum_of_ranks() -> float:
    """Adds the numbers of all ranks."""
    rank, _ = join()
    tensor = torch.ones(1) * rank
    torch.distributed.all_reduce(tensor)
    return float(tensor)


def wire_times() -> dict[float, float]:
    """Measures sums of several sizes."""
    join()
    return {size: time_of_all_reduce(size) for size in (0.1, 1.0, 4.0)}


def trained(kind: str, steps: int = 20) -> dict[str, Any]:
    """Trains the tiny model by `ddp`, `fsdp` or `plain`; gives losses and what this rank holds."""
    rank, world = join()
    model: Any = tiny_model()
    if kind == "ddp":
        model = DistributedDataParallel(model)
    elif kind == "fsdp":
        model = setup_fsdp_model(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = distributed_train_loop(model, batches(steps, rank, world), optimizer, rank)
    local = [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]
    return {"losses": losses, "held": sum(part.numel() for part in local)}
