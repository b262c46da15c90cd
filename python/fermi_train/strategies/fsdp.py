"""FSDP2: parameters, gradients and states are divided over the ranks."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..messages import Refusal, Text
from .base import Held, Strategy, bytes_of, optimiser_of, states_of
from .filling import filled_parts, taken_out


class FullyShard(Strategy):
    """`fully_shard` on each layer, then on the rest."""

    name = "fsdp"
    shards_parameters = True
    shards_states = True
    needs_group = True

    def setup(self, model: nn.Module) -> None:
        """Divides the model; the optimiser is made of the parts.

        The model is not on the GPU yet: `fully_shard` moves one layer after the other there, and keeps this rank's part. Of
        one that rank 0 alone has read, each rank is given its part of one parameter after the other.
        """
        from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

        settings = self.run.fsdp
        if settings.offload and not self.world.has_gpu:
            self.tell_no_offload("training.fsdp.offload_params")
        low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.run.precision)
        more: dict[str, Any] = {
            "mp_policy": MixedPrecisionPolicy(param_dtype=low, reduce_dtype=torch.float32 if low else None),
            "offload_policy": CPUOffloadPolicy() if settings.offload and self.world.has_gpu else OffloadPolicy(),
            "reshard_after_forward": settings.sharding != "SHARD_GRAD_OP",
            "mesh": self._mesh(),
        }
        values = taken_out(model, self.world)
        for layer in self._layers(model):
            fully_shard(layer, **more)
        fully_shard(model, **more)
        if values is not None:
            keeps = torch.device("cpu") if settings.offload else self.world.device
            filled_parts(model, values, keeps)
        self.bare = self.model = model
        self.optimizer = optimiser_of(model, self.run.optimiser, self.world.has_gpu and not settings.offload)

    def _mesh(self) -> Any:
        from torch.distributed.device_mesh import init_device_mesh

        ranks, local = self.world.ranks, self.world.place.local_ranks
        kind = self.world.device.type
        if self.run.fsdp.sharding == "HYBRID_SHARD" and 1 < local < ranks:
            return init_device_mesh(kind, (ranks // local, local), mesh_dim_names=("replicate", "shard"))
        return init_device_mesh(kind, (ranks,))

    def _layers(self, model: nn.Module) -> list[nn.Module]:
        settings = self.run.fsdp
        if settings.min_params is not None:
            return _by_size(model, settings.min_params)
        names = set(settings.layers or getattr(model, "_no_split_modules", None) or ())
        base: Any = getattr(model, "get_base_model", None)
        if not names and base is not None:
            names = set(getattr(base(), "_no_split_modules", None) or ())
        layers = [module for module in model.modules() if type(module).__name__ in names]
        if settings.layers and not layers:
            kinds = ", ".join(sorted({type(module).__name__ for module in model.modules()}))
            raise Refusal(
                Text(
                    f"模型中没有 {'、'.join(settings.layers)} 层",
                    f"the model has no layer {', '.join(settings.layers)}",
                ),
                Text(f"模型中有：{kinds}", f"it has {kinds}"),
            )
        return layers

    def micro_batch(self, is_last: bool) -> AbstractContextManager[Any]:
        """Reduces gradients in the last micro-batch of a step alone."""
        self.model.set_requires_gradient_sync(is_last)
        return nullcontext()

    def backward(self, loss: torch.Tensor, is_last: bool) -> None:
        """Adds the gradient; FSDP takes the mean over ranks."""
        (loss * self.world.ranks).backward()

    def step(self) -> float | torch.Tensor:
        """Clips by the norm over all parts, and updates."""
        limit = self.run.optimiser.max_grad_norm or float("inf")
        norm: Any = nn.utils.clip_grad_norm_([p for p in self.bare.parameters() if p.grad is not None], limit)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm.full_tensor() if hasattr(norm, "full_tensor") else norm

    def save(self, folder: Path) -> None:
        """Lets every rank write its part; the parts fit any number of ranks."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.state_dict import get_state_dict

        weights, states = get_state_dict(self.bare, self.optimizer)
        checkpoint.save({"model": weights, "optimizer": states}, checkpoint_id=folder)

    def load(self, folder: Path) -> None:
        """Reads the parts that this rank needs."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

        weights, states = get_state_dict(self.bare, self.optimizer)
        # Filled in place.
        found: dict[str, Any] = {"model": weights, "optimizer": states}
        checkpoint.load(found, checkpoint_id=folder)
        set_state_dict(
            self.bare,
            self.optimizer,
            model_state_dict=found["model"],
            optim_state_dict=found["optimizer"],
        )

    def whole_weights(self) -> dict[str, torch.Tensor] | None:
        """Gathers the weights on rank 0."""
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        whole: dict[str, Any] = get_model_state_dict(
            self.bare, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
        )
        return whole if self.world.rank == 0 else None

    def states_to_come(self) -> int:
        """Counts two states for what this rank trains on its GPU."""
        kept = (one for one in self.bare.parameters() if one.requires_grad and one.is_cuda)
        return 0 if self.run.optimiser.name == "sgd" else 2 * bytes_of(kept)

    def held(self) -> Held:
        """Counts this rank's parts."""
        return Held(bytes_of(self.bare.parameters()), bytes_of(states_of(self.optimizer)))


def _by_size(model: nn.Module, least: int) -> list[nn.Module]:
    """Finds the smallest modules that have at least so many parameters."""
    found: list[nn.Module] = []
    for module in model.modules():
        if module is model or isinstance(module, nn.ModuleList):
            continue
        own = sum(parameter.numel() for parameter in module.parameters())
        below = max((sum(p.numel() for p in child.parameters()) for child in module.children()), default=0)
        if own >= least > below:
            found.append(module)
    return found
