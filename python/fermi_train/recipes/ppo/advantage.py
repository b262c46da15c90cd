"""Rewards by token, and how much better than expected each was: plain functions of tensors.

All are of shape answers × tokens; `mask` is 1 on tokens that the policy wrote.
"""

from __future__ import annotations

import torch
from torch import Tensor


def token_rewards(scores: Tensor, old: Tensor, reference: Tensor, mask: Tensor, kl: float) -> Tensor:
    """Takes the distance from the reference off every token, and adds the answer's score to its last one."""
    rewards = -kl * (old - reference) * mask
    last = (mask.cumsum(1) * mask).argmax(1)
    rewards[torch.arange(len(rewards)), last] += scores
    return rewards


def gae(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Gives advantages and returns by generalised advantage estimation; nothing is expected after an answer's end."""
    advantages = torch.zeros_like(rewards)
    following_value = torch.zeros_like(rewards[:, 0])
    following = torch.zeros_like(rewards[:, 0])
    for token in reversed(range(rewards.shape[1])):
        here = mask[:, token]
        surprise = rewards[:, token] + gamma * following_value - values[:, token]
        # Tokens that are none hand on what comes after them.
        following = torch.where(here > 0, surprise + gamma * lam * following, following)
        following_value = torch.where(here > 0, values[:, token], following_value)
        advantages[:, token] = following * here
    return advantages, (advantages + values) * mask


def moments(values: Tensor, mask: Tensor) -> tuple[float, float, float]:
    """Gives the sum, the sum of squares and the number of values, to be added over ranks."""
    kept = values.double() * mask
    return float(kept.sum()), float((kept**2).sum()), float(mask.sum())


def whiten(values: Tensor, mask: Tensor, total: float, squares: float, count: float) -> Tensor:
    """Shifts and scales to mean 0 and variance 1, by the moments over all ranks."""
    mean = total / max(count, 1.0)
    variance = max(squares / max(count, 1.0) - mean**2, 0.0)
    return (values - mean) / (variance**0.5 + 1e-8) * mask


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor) -> float:
    """Says how much of the returns' variance the values foresaw: 1 is all, 0 is nothing."""
    kept = mask > 0
    if int(kept.sum()) < 2:
        return 0.0
    variance = returns[kept].var()
    return float(1.0 - (returns[kept] - values[kept]).var() / variance) if variance > 1e-12 else 0.0
