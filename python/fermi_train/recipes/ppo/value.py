"""The policy, and the model that says what reward is to be expected after each token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class PolicyAndValue(nn.Module):
    """Both in one module, so that one wrapping, one optimiser and one checkpoint hold them."""

    def __init__(self, policy: PreTrainedModel, value: PreTrainedModel) -> None:
        """Adds a head of one number to the value model; it begins at 0, so that nothing is expected at first."""
        super().__init__()
        self.policy: Any = policy
        self.value: Any = value
        config = self.value.config
        width = getattr(config, "word_embed_proj_dim", None) or config.hidden_size
        self.head = nn.Linear(width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @property
    def config(self) -> Any:
        """Gives the policy's shape."""
        return self.policy.config

    def gradient_checkpointing_enable(self, arguments: dict[str, Any]) -> None:
        """Computes activations of both again in the backward pass."""
        for model in (self.policy, self.value):
            model.gradient_checkpointing_enable(arguments)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gives logits and values at every token."""
        logits = self.policy(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits
        hidden = self.value(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).last_hidden_state
        return logits, self.head(hidden.float())[..., 0]
