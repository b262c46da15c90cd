"""From a checked row to stretches of text, each to be learned or only to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# For tokenizers that bring no template of their own.
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def give_template(tokenizer: PreTrainedTokenizerBase) -> None:
    """Lets a tokenizer that brings no template have ChatML's, and keep it beside the model that was trained with it."""
    if not tokenizer.chat_template:
        tokenizer.chat_template = CHATML


class Templates:
    """Writes conversations as the tokenizer's own template has them; without one, as ChatML's has."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Keeps the tokenizer, which stays as it is: what is prepared is named by its template."""
        self._tokenizer = tokenizer
        self._template = None if tokenizer.chat_template else CHATML
        self._end = str(tokenizer.eos_token or "")

    def segments(self, row: dict[str, Any]) -> list[tuple[str, bool]]:
        """Gives the stretches of a row for SFT; the end token is learned with what it ends."""
        if "text" in row:
            return [(row["text"] + self._end, True)]
        if "messages" in row:
            return self._conversation(row["messages"])
        prompt, completion = row["prompt"], row["completion"]
        if isinstance(prompt, list) or isinstance(completion, list):
            asked = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
            told = completion if isinstance(completion, list) else [{"role": "assistant", "content": completion}]
            return self._conversation([*asked, *told], learned_from=len(asked))
        return [(prompt, False), (completion + self._end, True)]

    def prompt(self, prompt: str | list[dict[str, str]]) -> str:
        """Gives the text that a model is to go on from."""
        return prompt if isinstance(prompt, str) else self._render(prompt, True)

    def _conversation(self, messages: list[dict[str, str]], learned_from: int = 0) -> list[tuple[str, bool]]:
        """Learns what the assistant says, up to the end of its turn."""
        segments: list[tuple[str, bool]] = []
        written = ""
        for index, message in enumerate(messages):
            if message["role"] != "assistant" or index < learned_from:
                continue
            before = self._render(messages[:index], True)
            after = self._render(messages[: index + 1], False)
            if not (before.startswith(written) and after.startswith(before)):
                # The template writes earlier turns differently once others follow: only the last one is sure.
                segments, written = [], ""
            segments += [(before[len(written) :], False), (after[len(before) :], True)]
            written = after
        return [(text, learned) for text, learned in segments if text]

    def _render(self, messages: list[dict[str, str]], asks: bool) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                messages, chat_template=self._template, tokenize=False, add_generation_prompt=asks
            )
        )
