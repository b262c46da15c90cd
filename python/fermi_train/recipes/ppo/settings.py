"""What PPO takes from the section `recipe`."""

from __future__ import annotations

from dataclasses import dataclass

from ...keys import Keys

# A temperature or a share of chances of nothing can draw no token.
LEAST_CHANCE = 1e-3


@dataclass(frozen=True)
class Ppo:
    """Numbers of PPO, with the usual ones of the literature."""

    epochs: int
    minibatches: int
    kl: float
    clip: float
    value_clip: float
    value_weight: float
    gamma: float
    lam: float
    length: int
    temperature: float
    top_p: float
    missing_end_penalty: float

    @classmethod
    def of(cls, keys: Keys) -> Ppo:
        """Takes them."""
        return cls(
            keys.count("recipe.ppo_epochs", 4),
            keys.count("recipe.minibatches", 1),
            keys.number("recipe.kl_coef", 0.05),
            keys.number("recipe.clip", 0.2),
            keys.number("recipe.value_clip", 0.2),
            keys.number("recipe.value_coef", 0.1),
            keys.number("recipe.gamma", 1.0, most=1.0),
            keys.number("recipe.lam", 0.95, most=1.0),
            keys.count("recipe.max_completion_length", 256),
            keys.number("recipe.temperature", 1.0, least=LEAST_CHANCE),
            keys.number("recipe.top_p", 1.0, least=LEAST_CHANCE, most=1.0),
            keys.number("recipe.missing_eos_penalty", 0.0),
        )
