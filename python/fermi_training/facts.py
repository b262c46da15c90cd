"""What the file does not say."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True)
class Facts:
    """The place at which the file is read.

    `model_parameters` is the model's size where it is known elsewhere; the file's own `model.parameters` wins.
    `deepspeed` is the JSON that `deepspeed.config_path` names; it decides what the file leaves open.
    """

    ranks: int = 1
    gpus: bool = False
    model_parameters: int | None = None
    deepspeed: Mapping[str, Value] | None = None


def ranks_here() -> int:
    """Reads the number of ranks from the launcher's WORLD_SIZE; without a launcher it is one."""
    given = os.environ.get("WORLD_SIZE", "").strip() or "1"
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise ValueError(f"WORLD_SIZE is {given}: give a whole number of at least 1, or leave it out")
    return int(given)


def gpus_here() -> bool:
    """Asks torch whether it sees GPUs; without torch there are none."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())
