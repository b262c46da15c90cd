"""Values of a model that rank 0 alone has read: the other ranks are given one parameter after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from ..models.outline import hollow, is_outline, reader_of
from .world import World


class Values:
    """What rank 0 gives to all. Every rank asks for the same names in the same order."""

    def __init__(self, world: World, given: dict[str, Callable[[], torch.Tensor]]) -> None:
        """Keeps what reads each value; on the other ranks nothing."""
        self._world, self._given = world, given

    def own(self, name: str, like: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Gives a value where this is rank 0, elsewhere its room; it is forgotten here."""
        kind = dtype if dtype is not None and like.is_floating_point() else like.dtype
        if (read := self._given.pop(name, None)) is None:
            return torch.empty(like.shape, dtype=kind, device=self._world.device)
        return read().to(device=self._world.device, dtype=kind).contiguous()

    def take(self, name: str, like: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Gives a value on all ranks."""
        value = self.own(name, like, dtype)
        dist.broadcast(value, 0)
        return value


def taken_out(model: nn.Module, world: World) -> Values | None:
    """Takes the values out of a model that is without memory on some rank; none where every rank has the whole."""
    if world.all_agree(not is_outline(model)):
        return None
    given: dict[str, Callable[[], torch.Tensor]] = {}
    for name, parameter in model.named_parameters():
        if world.rank == 0:
            given[name] = reader_of(parameter) or _kept(parameter.detach())
        put(parameter, hollow(parameter))
    shapes = [(name, str(one.dtype), list(one.shape)) for name, one in model.named_parameters()]
    world.check_same(shapes)
    return Values(world, given)


def put(parameter: nn.Parameter, other: nn.Parameter) -> None:
    """Lets a parameter be another one, wherever it is held; what shares it goes on to share it."""
    if other is not parameter:
        torch.utils.swap_tensors(parameter, other)


def filled(model: nn.Module, values: Values, dtype: torch.dtype | None = None) -> None:
    """Gives every rank the whole model on its device."""
    for name, parameter in list(model.named_parameters()):
        value = values.take(name, parameter, dtype)
        put(parameter, nn.Parameter(value, requires_grad=parameter.requires_grad))


def whole_on_device(model: nn.Module, world: World) -> nn.Module:
    """Brings a model to this rank's device, with the values of rank 0 where another rank has none."""
    if (values := taken_out(model, world)) is not None:
        filled(model, values)
    return model.to(world.device)


@torch.no_grad()
def filled_parts(model: nn.Module, values: Values, device: torch.device) -> None:
    """Gives every rank its part of a model that is divided already, on the device where parts are kept."""
    from torch.distributed.tensor import distribute_tensor

    def room(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(tensor, device=device) if tensor.is_meta else tensor

    # As `to_empty` does, but that would empty buffers too.
    model._apply(room)  # pyright: ignore[reportPrivateUsage]
    for name, parameter in model.named_parameters():
        whole = values.take(name, parameter)
        part: Any = parameter
        divided: Any = distribute_tensor(whole, part.device_mesh, part.placements, src_data_rank=None)
        part.to_local().copy_(divided.to_local())


def _kept(value: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: value
