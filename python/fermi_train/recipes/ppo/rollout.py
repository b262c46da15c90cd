"""Answers of the policy, with everything that is kept of them for the updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...data.templates import Templates
from ...models.bytes_tokenizer import token
from .settings import Ppo

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass
class Answers:
    """Prompts with answers, filled up on the right; `mask` is 1 on the answers' tokens, the end token among them."""

    ids: Tensor
    attention: Tensor
    mask: Tensor
    texts: list[str]
    ended: Tensor


@torch.no_grad()
def answer(
    policy: Any, tokenizer: PreTrainedTokenizerBase, prompts: list[Any], settings: Ppo, longest: int, device: Any
) -> Answers:
    """Lets the policy answer by sampling."""
    templates = Templates(tokenizer)
    asked = [
        list(tokenizer(templates.prompt(prompt), add_special_tokens=False)["input_ids"])[-longest:]
        for prompt in prompts
    ]
    width, pad, end = max(map(len, asked)), token(tokenizer.pad_token_id), token(tokenizer.eos_token_id)
    ids = torch.full((len(asked), width), pad, dtype=torch.long)
    attention = torch.zeros_like(ids)
    for row, tokens in enumerate(asked):
        ids[row, width - len(tokens) :] = torch.tensor(tokens)
        attention[row, width - len(tokens) :] = 1
    was_training = policy.training
    policy.eval()
    made = policy.generate(
        input_ids=ids.to(device),
        attention_mask=attention.to(device),
        do_sample=True,
        temperature=settings.temperature,
        top_p=settings.top_p,
        top_k=0,
        max_new_tokens=settings.length,
        pad_token_id=pad,
        eos_token_id=end,
        use_cache=True,
    )[:, width:].cpu()
    policy.train(was_training)
    return _packed(asked, made, tokenizer, pad, end, device)


def _packed(
    asked: list[list[int]], made: Tensor, tokenizer: PreTrainedTokenizerBase, pad: int, end: int, device: Any
) -> Answers:
    """Moves the filling behind the answers, so that any model counts positions rightly."""
    answers: list[list[int]] = []
    for row in made.tolist():
        answers.append(row[: row.index(end) + 1] if end in row else row)
    width = max(len(one) + len(other) for one, other in zip(asked, answers, strict=True))
    ids = torch.full((len(asked), width), pad, dtype=torch.long)
    attention, mask = torch.zeros_like(ids), torch.zeros((len(asked), width))
    for row, (prompt, told) in enumerate(zip(asked, answers, strict=True)):
        both = len(prompt) + len(told)
        ids[row, :both] = torch.tensor(prompt + told)
        attention[row, :both] = 1
        mask[row, len(prompt) : both] = 1.0
    texts = [str(tokenizer.decode(told, skip_special_tokens=True)) for told in answers]
    ended = torch.tensor([bool(told) and told[-1] == end for told in answers])
    return Answers(ids.to(device), attention.to(device), mask.to(device), texts, ended)
