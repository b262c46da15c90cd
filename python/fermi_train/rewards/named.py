"""Finds a reward by its name in the file.

A reward takes `prompts`, `completions` and the other columns of the data, each a list, and gives a number for each answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..imported import NotImported, imported
from ..messages import Refusal, Text

Reward = Callable[..., list[float]]
_NAMES = "length:N, format:REGEX, exact, share:LETTER, model:FOLDER, module:function"


def reward_of(name: str) -> Reward:
    """Gives the reward; a name that leads nowhere is refused with the names that there are."""
    kind, _, argument = name.partition(":")
    made = {"length": _length, "format": _format, "share": _share, "model": _model}.get(kind)
    if made is not None and argument:
        return _named(made(argument), name)
    if name == "exact":
        return _named(_exact, name)
    try:
        found = imported(name)
    except NotImported as error:
        raise _unknown(name, _words_of(error)) from None
    if not callable(found):
        raise _unknown(name, Text(f"{argument} 不是函数", f"{argument} is no function"))
    reward: Any = found
    return reward


def text_of(completion: Any) -> str:
    """Gives the text of an answer, which TRL has as messages where the prompt is a conversation."""
    return completion if isinstance(completion, str) else "".join(message["content"] for message in completion)


def _length(argument: str) -> Reward:
    """Is 1 for an answer of so many letters, and falls with the distance from it."""
    if not argument.isdigit() or int(argument) < 1:
        why = Text("长度应为至少为 1 的整数", "a length is a whole number of at least 1")
        raise _unknown(f"length:{argument}", why)
    target = int(argument)

    def reward(completions: list[Any], **_: Any) -> list[float]:
        return [max(0.0, 1.0 - abs(len(text_of(one)) - target) / target) for one in completions]

    return reward


def _format(argument: str) -> Reward:
    """Is 1 where the whole answer has that form, else 0."""
    try:
        form = re.compile(argument, re.DOTALL)
    except re.error as error:
        raise _unknown(f"format:{argument}", _words_of(error)) from None

    def reward(completions: list[Any], **_: Any) -> list[float]:
        return [1.0 if form.fullmatch(text_of(one).strip()) else 0.0 for one in completions]

    return reward


def _share(argument: str) -> Reward:
    """Is the share of one letter among all letters of the answer."""

    def reward(completions: list[Any], **_: Any) -> list[float]:
        return [text_of(one).count(argument) / max(len(text_of(one)), 1) for one in completions]

    return reward


def _exact(completions: list[Any], answer: list[str] | None = None, **_: Any) -> list[float]:
    """Is 1 where the answer ends with the column `answer`, else 0."""
    if answer is None:
        raise Refusal(
            Text("奖励 exact 需要数据中的 answer 列", "the reward exact needs the column answer in the data"),
            Text("请为每行添加 answer，或使用其他奖励", "give every row an answer, or take another reward"),
        )
    return [
        1.0 if text_of(one).strip().endswith(str(right).strip()) else 0.0
        for one, right in zip(completions, answer, strict=True)
    ]


def _model(argument: str) -> Reward:
    """Asks a reward model, as the recipe `rm` trains one."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = AutoTokenizer.from_pretrained(argument)
        model: Any = AutoModelForSequenceClassification.from_pretrained(argument, num_labels=1).to(device).eval()
    except (OSError, ValueError, SafetensorError) as error:
        raise _unknown(f"model:{argument}", _words_of(error)) from None

    @torch.no_grad()
    def reward(prompts: list[Any], completions: list[Any], **_: Any) -> list[float]:
        texts = [
            _asked(prompt) + text_of(one) + (tokenizer.eos_token or "")
            for prompt, one in zip(prompts, completions, strict=True)
        ]
        batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, add_special_tokens=False).to(
            device
        )
        scores = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, 0]
        return [float(score) for score in scores]

    def _asked(prompt: Any) -> str:
        if isinstance(prompt, str):
            return prompt
        return str(tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True))

    return reward


def _named(reward: Reward, name: str) -> Reward:
    """Names the function as people know it: it stands in logs."""
    reward.__name__ = name.partition(":")[0]
    return reward


def _words_of(error: Exception) -> Text:
    """Gives the first line of what a library says; it says it in English."""
    words = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return Text(words, words)


def _unknown(name: str, why: Text) -> Refusal:
    return Refusal(
        Text(f"没有名为 “{name}” 的奖励：{why.zh}", f"there is no reward {name!r}: {why.en}"),
        Text(f"recipe.reward 可以是：{_NAMES}", f"recipe.reward takes {_NAMES}"),
    )
