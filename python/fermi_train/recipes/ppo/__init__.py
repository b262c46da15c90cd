"""PPO: the model tries answers, a value model says what was to be expected, and what turned out better becomes likelier.

TRL has no PPO any more; see docs/decisions/0022. `trainer` has the loop, `rollout` the answers, `advantage` and `loss` the
arithmetic as plain functions.
"""

from __future__ import annotations

from ...environment import Place
from ...reading import File


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    from .recipe import train as train_by_recipe

    return train_by_recipe(file, place)
