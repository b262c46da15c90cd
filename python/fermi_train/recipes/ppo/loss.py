"""The losses of PPO as sums over tokens: plain functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor


def log_probabilities(logits: Tensor, ids: Tensor, temperature: float) -> Tensor:
    """Gives the log probability of each token under the logits of the token before it; the first token has none."""
    scaled = logits[:, :-1].float() / temperature
    chosen = torch.gather(scaled, 2, ids[:, 1:, None])[..., 0] - scaled.logsumexp(-1)
    return torch.cat([torch.zeros_like(chosen[:, :1]), chosen], dim=1)


def policy_loss(new: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """Gives the clipped loss, and how many tokens were clipped."""
    ratio = torch.exp((new - old) * mask)
    free, bounded = -advantages * ratio, -advantages * ratio.clamp(1 - clip, 1 + clip)
    return (torch.maximum(free, bounded) * mask).sum(), ((bounded > free) * mask).sum()


def value_loss(values: Tensor, old: Tensor, returns: Tensor, mask: Tensor, clip: float) -> Tensor:
    """Gives half the squared error; values move no further than `clip` from where they were."""
    bounded = old + (values - old).clamp(-clip, clip)
    return 0.5 * (torch.maximum((values - returns) ** 2, (bounded - returns) ** 2) * mask).sum()
