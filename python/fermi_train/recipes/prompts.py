"""How long prompts are: answers are written behind them, and both have to find room in the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.templates import Templates
from ..messages import Refusal, Text
from .with_trl import Rows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# So many are counted at once: the tokens of all would fill the memory of every rank.
_TOGETHER = 1024


def longest_prompt(rows: Rows, tokenizer: PreTrainedTokenizerBase) -> int:
    """Counts the tokens of the longest one."""
    templates = Templates(tokenizer)
    texts = [templates.prompt(row["prompt"]) for row in [*rows.train, *(rows.evaluation or [])]]
    longest = 0
    for begin in range(0, len(texts), _TOGETHER):
        every = tokenizer(texts[begin : begin + _TOGETHER], add_special_tokens=False)["input_ids"]
        longest = max(longest, *map(len, every))
    return longest


def check_prompts(longest: int, most: int) -> None:
    """Refuses prompts above `max_length` where the trainer would not cut them."""
    if longest > most:
        raise Refusal(
            Text(
                f"最长的提示有 {longest} 个词元，超过 max_length {most}",
                f"the longest prompt has {longest} tokens, more than the max_length of {most}",
            ),
            Text(
                "请增大 model.max_length，或缩短数据中的提示",
                "raise model.max_length, or shorten the prompts of the data",
            ),
        )
