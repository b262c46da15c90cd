"""The libraries that a run needs, with the ranges that were tested."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .messages import Refusal, Text

if TYPE_CHECKING:
    from .settings import Run

# A module, and what pip is told to have it; pyproject.toml has the same ranges.
REQUIREMENTS = {
    "yaml": "PyYAML>=6.0",
    "torch": "torch>=2.7,<2.16",
    "transformers": "transformers>=5.22,<5.23",
    "trl": "trl>=1.16,<1.17",
    "datasets": "datasets>=5.0,<6",
    "accelerate": "accelerate>=1.15,<2",
    "peft": "peft>=0.21,<0.22",
    "pyarrow": "pyarrow>=20",
    "numpy": "numpy>=2",
    "tqdm": "tqdm>=4.66",
    "deepspeed": "deepspeed>=0.19.8,<0.20",
    "tensorboard": "tensorboard>=2.20",
    "wandb": "wandb>=0.31,<0.32",
    "jax": "jax>=0.10,<0.11",
    "optax": "optax>=0.2.8",
}
PREPARING = ("yaml", "transformers", "pyarrow", "numpy", "tqdm")
EVERY = (*PREPARING, "torch")
OF_JAX = (*PREPARING, "jax", "optax")
_OF_TRL = ("trl", "datasets", "accelerate")


def needed(run: Run) -> list[str]:
    """Lists the modules that a run imports."""
    names: list[str] = [*EVERY]
    if run.algorithm in ("reward", "dpo", "grpo"):
        names += _OF_TRL
    if run.lora is not None:
        names.append("peft")
    if run.strategy == "deepspeed":
        names.append("deepspeed")
    return [*names, *run.trackers]


def missing(names: Iterable[str]) -> list[str]:
    """Lists those that this Python does not have; nothing is imported."""
    return [name for name in names if find_spec(name) is None]


def refusal_of(error: ModuleNotFoundError, needs: Iterable[str]) -> Refusal | None:
    """Names what is missing of `needs` where a library was not found: all at once, for nobody wants them one by one.

    Gives none where the error speaks of another module.
    """
    name = (error.name or "").partition(".")[0]
    if name not in REQUIREMENTS and name != "tokenizers":
        return None
    return not_installed(list(dict.fromkeys([*missing(needs), name])))


def not_installed(names: list[str]) -> Refusal:
    """Says what is missing, and the line that brings it."""
    wanted = " ".join(shlex.quote(REQUIREMENTS.get(name, name)) for name in names)
    line = f"{shlex.quote(sys.executable)} -m pip install {wanted}"
    return Refusal(
        Text(f"没有安装 {'、'.join(names)}", f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not installed"),
        Text(f"请运行 {line}", f"run {line}"),
    )
