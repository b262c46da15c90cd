"""One process alone, and DDP: every rank holds the whole model."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .base import Held, Strategy, bytes_of, optimiser_of, states_of


class DataParallel(Strategy):
    """DDP over all ranks; with one rank the model as it is."""

    name = "ddp"
    is_whole = True

    def setup(self, model: nn.Module) -> None:
        """Wraps the model, unless a trainer of one's own has done so."""
        if isinstance(model, DistributedDataParallel):
            self.bare, self.model = model.module, model
        else:
            self.bare = self.model = model
            if self.world.ranks > 1:
                self.model = self._wrapped(model)
        self.optimizer = optimiser_of(self.bare, self.run.optimiser, self.world.has_gpu)
        self._scaler = torch.amp.GradScaler(self.world.device.type, enabled=self.run.precision == "fp16")

    def _wrapped(self, model: nn.Module) -> DistributedDataParallel:
        settings = self.run.ddp
        more: dict[str, Any] = {}
        if not settings.broadcast_buffers:
            # torch 2.15 has another name for it.
            known = inspect.signature(DistributedDataParallel.__init__).parameters
            more["forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"] = False
        wrapped = DistributedDataParallel(
            model,
            device_ids=[self.world.device.index] if self.world.has_gpu else None,
            bucket_cap_mb=settings.bucket_cap_mb,
            find_unused_parameters=settings.find_unused,
            gradient_as_bucket_view=settings.gradient_as_bucket_view,
            **more,
        )
        if settings.hook:
            _compress(wrapped, settings.hook)
        return wrapped

    def micro_batch(self, is_last: bool) -> AbstractContextManager[Any]:
        """Holds gradients back until the last micro-batch of a step."""
        stack = ExitStack()
        if not is_last and isinstance(self.model, DistributedDataParallel):
            stack.enter_context(self.model.no_sync())
        stack.enter_context(self.autocast())
        return stack

    def backward(self, loss: torch.Tensor, is_last: bool) -> None:
        """Adds the gradient; DDP takes the mean over ranks, so the share is multiplied by their number."""
        self._scaler.scale(loss * self.world.ranks).backward()

    def step(self) -> float | torch.Tensor:
        """Clips and updates; a step whose fp16 gradients overflowed changes nothing."""
        self._scaler.unscale_(self.optimizer)
        limit = self.run.optimiser.max_grad_norm or float("inf")
        norm = nn.utils.clip_grad_norm_([p for p in self.bare.parameters() if p.grad is not None], limit)
        self._scaler.step(self.optimizer)
        self._scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def save(self, folder: Path) -> None:
        """Lets one rank of each checkpoint folder write."""
        if not self.world.place.saves:
            return
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.state_dict import get_state_dict

        weights, states = get_state_dict(self.bare, self.optimizer)
        checkpoint.save({"model": weights, "optimizer": states}, checkpoint_id=folder, no_dist=True)
        torch.save({"scaler": self._scaler.state_dict()}, folder / "scaler.pt")

    def load(self, folder: Path) -> None:
        """Lets every rank read the whole."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

        weights, states = get_state_dict(self.bare, self.optimizer)
        # Filled in place.
        found: dict[str, Any] = {"model": weights, "optimizer": states}
        checkpoint.load(found, checkpoint_id=folder, no_dist=True)
        set_state_dict(
            self.bare,
            self.optimizer,
            model_state_dict=found["model"],
            optim_state_dict=found["optimizer"],
        )
        if (scaler := folder / "scaler.pt").exists():
            self._scaler.load_state_dict(torch.load(scaler, weights_only=True)["scaler"])

    def whole_weights(self) -> dict[str, torch.Tensor] | None:
        """Gives the weights as they are."""
        return self.bare.state_dict() if self.world.rank == 0 else None

    def held(self) -> Held:
        """Counts the whole model."""
        return Held(bytes_of(self.bare.parameters()), bytes_of(states_of(self.optimizer)))


def _compress(model: DistributedDataParallel, name: str) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    if name == "powersgd":
        model.register_comm_hook(powerSGD_hook.PowerSGDState(None), powerSGD_hook.powerSGD_hook)
    else:
        model.register_comm_hook(None, getattr(default_hooks, f"{name}_compress_hook"))
