"""DeepSpeed ZeRO: states, then gradients, then parameters are divided over the ranks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..messages import Refusal, Text
from .base import Held, Strategy, bytes_of, decaying, optimiser_of, states_of
from .filling import Values, filled, put, taken_out
from .zero_parts import load_parts, parts_in

_TAG = "zero"


class Zero(Strategy):
    """DeepSpeed's engine with our optimiser, batch and loss."""

    name = "deepspeed"
    needs_group = True

    @property
    def stage(self) -> int:
        """Gives the ZeRO stage."""
        return self.run.stage or 0

    @property
    def shards_states(self) -> bool:
        """Says that every stage from 1 on divides the states."""
        return self.stage >= 1

    @property
    def shards_parameters(self) -> bool:
        """Says that stage 3 divides the parameters."""
        return self.stage >= 3

    def setup(self, model: nn.Module) -> None:
        """Makes the engine.

        The model is not on the GPU yet: stages 1 and 2 bring it there whole and in the run's precision, stage 3 divides
        one parameter after the other.
        """
        try:
            import deepspeed
        except ImportError:
            raise Refusal(
                Text("没有安装 DeepSpeed", "DeepSpeed is not installed"),
                Text("请运行 pip install deepspeed", "run pip install deepspeed"),
            ) from None
        self.bare = model
        config = engine_config(self)
        # Before parameters are divided: what decays is told by their shape.
        decays = decaying(model)
        values = taken_out(model, self.world)
        if self.shards_parameters:
            self._divide(model, config, values)
        elif values is not None:
            filled(model, values, self._low())
        optimizer = optimiser_of(model, self.run.optimiser, self.world.has_gpu, decays)
        self._engine, self.optimizer, _, _ = deepspeed.initialize(
            model=model, optimizer=optimizer, config=config, dist_init_required=False
        )
        self.model = self._engine

    def _low(self) -> torch.dtype | None:
        return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.run.precision)

    def _divide(self, model: nn.Module, config: dict[str, Any], values: Values | None) -> None:
        """Leaves this rank its part of each parameter; the engine would first bring the whole model to the device."""
        import deepspeed

        low = self._low()
        deepspeed.init_distributed(dist_init_required=False)
        for name, parameter in list(model.named_parameters()):
            if values is not None:
                # What stands elsewhere than on rank 0 is given by DeepSpeed.
                value = values.own(name, parameter, low)
                put(parameter, nn.Parameter(value, requires_grad=parameter.requires_grad))
            elif low is not None and parameter.is_floating_point():
                parameter.data = parameter.data.to(low)
            if values is not None:
                deepspeed.zero.Init(module=nn.ParameterList([parameter]), config_dict_or_path=config, dtype=low)
        if values is None:
            deepspeed.zero.Init(module=model, config_dict_or_path=config, dtype=low)
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(self.world.device))

    def rehearse(self, loss_of: Callable[[], torch.Tensor], passes: int) -> None:
        """Adds gradients of nothing: the engine keeps what it was given, and updates at the end of a step alone."""
        for _ in range(passes):
            with self.micro_batch(False):
                loss = loss_of()
            self.backward(loss * 0.0, False)

    def micro_batch(self, is_last: bool) -> AbstractContextManager[Any]:
        """Tells the engine which micro-batch ends a step."""
        self._engine.set_gradient_accumulation_boundary(is_last)
        return nullcontext()

    def backward(self, loss: torch.Tensor, is_last: bool) -> None:
        """Adds the gradient; DeepSpeed takes the mean over ranks, and its own division by micro-batches is left out."""
        self._engine.backward(loss * self.world.ranks, scale_wrt_gas=False)
        if not is_last:
            self._engine.step()

    def step(self) -> float | torch.Tensor:
        """Updates; the engine clips."""
        self._engine.step()
        norm = self._engine.get_global_grad_norm()
        return norm if norm is not None else float("nan")

    def save(self, folder: Path) -> None:
        """Lets every rank write its part."""
        self._engine.save_checkpoint(str(folder), tag=_TAG)

    def load(self, folder: Path) -> None:
        """Reads this rank's part; where another number of ranks has saved, out of the parts of all."""
        if len(parts_in(folder / _TAG)) == self.world.ranks:
            self._engine.load_checkpoint(str(folder), tag=_TAG)
        else:
            load_parts(self._engine, folder / _TAG, self.world.rank)
        self.world.barrier()

    def whole_weights(self) -> dict[str, torch.Tensor] | None:
        """Gathers the weights on rank 0."""
        if self.stage < 3:
            return self.bare.state_dict() if self.world.rank == 0 else None
        import deepspeed

        whole: dict[str, torch.Tensor] = {}
        for name, parameter in self.bare.named_parameters():
            with deepspeed.zero.GatheredParameters([parameter]):
                if self.world.rank == 0:
                    whole[name] = parameter.detach().cpu().clone()
        whole.update({name: buffer.cpu() for name, buffer in self.bare.named_buffers() if name in self._kept()})
        return whole if self.world.rank == 0 else None

    def held(self) -> Held:
        """Counts what the engine keeps on this rank."""
        own = self._engine.parameters()
        parameters = bytes_of(getattr(parameter, "ds_tensor", parameter) for parameter in own)
        inner = getattr(self.optimizer, "optimizer", self.optimizer)
        return Held(parameters, bytes_of(states_of(inner)))

    def _kept(self) -> set[str]:
        return set(self.bare.state_dict().keys())


def engine_config(strategy: Zero) -> dict[str, Any]:
    """Gives DeepSpeed's configuration: the user's JSON, with what the run decides over it, and without `auto`."""
    run, world = strategy.run, strategy.world
    config = _without_auto(run.deepspeed)
    # Ours: the batch follows from the ranks, the optimiser and the schedule are the run's.
    for key in ("train_batch_size", "optimizer", "scheduler", "fp16", "bf16"):
        config.pop(key, None)
    zero = dict(config.get("zero_optimization") or {})
    zero["stage"] = strategy.stage
    if not world.has_gpu:
        offloads = [zero.pop(key, None) for key in ("offload_optimizer", "offload_param")]
        zero.pop("overlap_comm", None)
        if any(isinstance(one, dict) and one.get("device", "none") != "none" for one in offloads):
            strategy.tell_no_offload("zero_optimization.offload_optimizer / offload_param")
    config |= {
        "train_micro_batch_size_per_gpu": strategy.micro,
        "gradient_accumulation_steps": strategy.accumulation,
        "gradient_clipping": run.optimiser.max_grad_norm,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 10**9,
    }
    if run.precision != "fp32":
        given = run.deepspeed.get(run.precision)
        config[run.precision] = {**_without_auto(given if isinstance(given, dict) else {}), "enabled": True}
    return config


def _without_auto(section: dict[str, Any]) -> dict[str, Any]:
    cleaned = {}
    for key, value in section.items():
        if isinstance(value, dict):
            cleaned[key] = _without_auto(value)
        elif value != "auto":
            cleaned[key] = value
    return cleaned
