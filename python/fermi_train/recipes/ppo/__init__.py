"""PPO: the model tries answers, a value model says what was to be expected, and what turned out better becomes likelier.

TRL has no PPO any more; see docs/decisions/0022. `trainer` has the loop, `rollout` the answers, `advantage` and `loss` the
arithmetic as plain functions.
"""

from .recipe import train

__all__ = ["train"]
