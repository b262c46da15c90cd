"""What the loop asks of a strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..messages import Text
from ..report import logs
from ..settings import Optimiser, Run
from .world import World


@dataclass(frozen=True)
class Held:
    """Bytes that a rank holds: parameters, and states of the optimiser."""

    parameters: int
    states: int


class Strategy(ABC):
    """Wraps a model, and carries gradients and checkpoints between ranks."""

    name: str
    # Every rank holds the whole model, and can try it without the others.
    is_whole = False
    shards_parameters = False
    shards_states = False
    needs_group = False

    def __init__(self, run: Run, world: World) -> None:
        """Keeps what the run obeys; `setup` does the rest."""
        self.run, self.world = run, world
        # As the file has them, or as they were found to fit before `setup`.
        self.micro, self.accumulation = run.micro, run.accumulation
        self.bare: Any = None
        self.model: Any = None
        self.optimizer: Any = None

    @abstractmethod
    def setup(self, model: nn.Module) -> None:
        """Wraps the model and makes the optimiser."""

    @abstractmethod
    def backward(self, loss: torch.Tensor, is_last: bool) -> None:
        """Takes the gradient of a micro-batch's share of the step's mean loss."""

    @abstractmethod
    def step(self) -> float | torch.Tensor:
        """Clips and updates; gives the norm of the gradient before clipping, on the GPU as it is: who reads it waits."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes parameters and states below a folder; all ranks call it."""

    @abstractmethod
    def load(self, folder: Path) -> None:
        """Reads what `save` wrote, also with another number of ranks."""

    @abstractmethod
    def whole_weights(self) -> dict[str, torch.Tensor] | None:
        """Gives all trained weights on the CPU of rank 0; others get none. All ranks call it."""

    @abstractmethod
    def held(self) -> Held:
        """Counts what this rank holds."""

    def rehearse(self, loss_of: Callable[[], torch.Tensor], passes: int) -> None:
        """Goes forward and backward as in a step of so many micro-batches, and changes nothing. All ranks call it."""
        for turn in range(passes):
            is_last = turn == passes - 1
            with self.micro_batch(is_last):
                loss = loss_of()
            self.backward(loss, is_last)
        self.optimizer.zero_grad(set_to_none=True)

    def states_to_come(self) -> int:
        """Counts the bytes of states that the optimiser makes on this rank's device in the first step."""
        return 0

    def tell_no_offload(self, key: str) -> None:
        """Says that a wish has no effect here."""
        if self.world.rank == 0:
            text = Text(
                f"没有 GPU：{key} 不起作用，全部数据本就在内存中",
                f"there is no GPU, so {key} has no effect: all is in host memory",
            )
            logs.training().warning("%s", text)

    def micro_batch(self, is_last: bool) -> AbstractContextManager[Any]:
        """Surrounds forward and backward of a micro-batch."""
        stack = ExitStack()
        stack.enter_context(self.autocast())
        return stack

    def set_rate(self, rate: float) -> None:
        """Sets the learning rate of all groups."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def autocast(self) -> AbstractContextManager[Any]:
        """Lets the forward pass compute in the run's precision."""
        if self.run.precision == "fp32":
            return nullcontext()
        kind = torch.bfloat16 if self.run.precision == "bf16" else torch.float16
        return torch.autocast(self.world.device.type, dtype=kind)


def decaying(model: nn.Module) -> set[nn.Parameter]:
    """Gives the weights that decay: matrices alone, not norms and biases."""
    return {parameter for parameter in model.parameters() if parameter.ndim >= 2}


def optimiser_of(
    model: nn.Module, settings: Optimiser, fused: bool, decays: set[nn.Parameter] | None = None
) -> torch.optim.Optimizer:
    """Makes the optimiser.

    `fused` takes torch's one pass over all parameters, which the run may also ask for by name; `decays` is what decays
    where the shapes of parameters no longer tell.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = decaying(model) if decays is None else decays
    groups = [
        {"params": [one for one in trained if one in matrices], "weight_decay": settings.weight_decay},
        {"params": [one for one in trained if one not in matrices], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if settings.name == "sgd":
        return torch.optim.SGD(groups, lr=settings.rate)
    kind = torch.optim.Adam if settings.name == "adam" else torch.optim.AdamW
    one_pass = True if fused or settings.name == "adamw_torch_fused" else None
    return kind(groups, lr=settings.rate, betas=settings.betas, eps=settings.epsilon, fused=one_pass)


def bytes_of(tensors: Any) -> int:
    """Adds up what tensors take on this rank; of a sharded one its own part counts."""
    total = 0
    for tensor in tensors:
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        total += local.numel() * local.element_size()
    return total


def states_of(optimizer: Any) -> list[torch.Tensor]:
    """Lists the tensors that an optimiser keeps for its parameters; counters of steps are none of them."""
    return [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if torch.is_tensor(value) and value.numel() > 1
    ]
