"""Joining ranks, dividing a model, and the training loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def join() -> tuple[int, int]:
    """Joins the other ranks of the launch; gives this rank and their number. Alone it is a group of one."""
    if not dist.is_initialized():
        os.environ.setdefault("MASTER_ADDR", "localhost")
        os.environ.setdefault("MASTER_PORT", "29501")
        os.environ.setdefault("RANK", "0")
        os.environ.setdefault("LOCAL_RANK", os.environ["RANK"])
        os.environ.setdefault("WORLD_SIZE", "1")
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return dist.get_rank(), dist.get_world_size()


def device() -> torch.device:
    """Gives this rank's GPU, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def setup_fsdp_model(model: nn.Module) -> nn.Module:
    """Divides each layer of a model over the ranks, then the rest. Half precision is for GPUs."""
    half = torch.float16 if torch.cuda.is_available() else None
    policy = MixedPrecisionPolicy(param_dtype=half, reduce_dtype=half)
    layers = {*(getattr(model, "_no_split_modules", None) or ())}
    for layer in [module for module in model.modules() if type(module).__name__ in layers]:
        fully_shard(layer, mp_policy=policy)
    return fully_shard(model, mp_policy=policy)


def distributed_train_loop(
    model: nn.Module, dataloader: Iterable[dict[str, torch.Tensor]], optimizer: torch.optim.Optimizer, rank: int
) -> list[float]:
    """Trains over a loader and gives the losses.

    DDP and FSDP average the gradients within `backward`; a model without either needs `average_gradients` before the
    step. The loss is averaged over ranks to be shown, which changes no update.
    """
    from .communication import average_gradients, is_reduced_by_wrapper

    model.train()
    losses = []
    for index, batch in enumerate(dataloader):
        optimizer.zero_grad()
        loss = model(**{name: value.to(device()) for name, value in batch.items()}).loss
        loss.backward()
        if not is_reduced_by_wrapper(model):
            average_gradients(model)
        optimizer.step()
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        losses.append(float(shown) / dist.get_world_size())
        if index % 100 == 0 and rank == 0:
            print(f"Batch {index}, Loss: {losses[-1]:.4f}", flush=True)
    return losses


def run_ranks(count: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Calls an importable function on so many new ranks over gloo; gives what each gave."""
    import torch.multiprocessing as processes

    context = processes.get_context("spawn")
    answers = context.SimpleQueue()
    port = 29600 + os.getpid() % 1000
    started = [
        context.Process(target=_one_rank, args=(rank, count, port, answers, function, arguments))
        for rank in range(count)
    ]
    for process in started:
        process.start()
    found = dict(answers.get() for _ in started)
    for process in started:
        process.join()
    return [found[rank] for rank in range(count)]


def _one_rank(rank: int, count: int, port: int, answers: Any, function: Any, arguments: Any) -> None:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    torch.set_num_threads(1)
    try:
        answers.put((rank, function(*arguments)))
    except BaseException as error:
        answers.put((rank, repr(error)))
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
