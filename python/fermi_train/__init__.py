"""Recipes that train from one `training.yaml`: SFT, reward model, DPO, GRPO and PPO, on one process or on many.

`python -m fermi_train --config training.yaml --algorithm sft` trains; under `fermi run`, `torchrun` or `deepspeed` all
ranks train together. `BaseTrainer` is the loop that recipes of one's own extend (`--trainer module:Class`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trainer import BaseTrainer

__all__ = ["BaseTrainer"]


def __getattr__(name: str) -> Any:
    """Imports torch only when the trainer is asked for: the command line answers without it."""
    if name == "BaseTrainer":
        from .trainer import BaseTrainer

        return BaseTrainer
    raise AttributeError(name)
