"""Tokens of many rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .problems import RowProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

    Tokens = NDArray[np.int32]


class Encoder:
    """Turns stretches of text into tokens; the Rust tokenizer is called once for a whole batch of rows."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int) -> None:
        """Takes the tokenizer of the model."""
        self._tokenizer = tokenizer
        self._fast = getattr(tokenizer, "backend_tokenizer", None)
        if self._fast is not None:
            self._fast.no_truncation()
            self._fast.no_padding()
        self.max_length = max_length
        bos: Any = tokenizer.bos_token_id
        adds = tokenizer("a", add_special_tokens=True)["input_ids"]
        self._begin: list[int] = [bos] if bos is not None and list(adds)[:1] == [bos] else []

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Gives the tokens of texts, without any that the tokenizer would add around them."""
        if not texts:
            return []
        if self._fast is not None:
            return [made.ids for made in self._fast.encode_batch_fast(texts, add_special_tokens=False)]
        return [list(ids) for ids in self._tokenizer(texts, add_special_tokens=False)["input_ids"]]

    def learnable(self, rows: list[list[tuple[str, bool]]]) -> list[tuple[list[int], list[int]] | RowProblem]:
        """Gives for each row its tokens and which of them are learned, cut at `max_length`."""
        encoded = iter(self.ids([text for row in rows for text, _ in row]))
        results: list[tuple[list[int], list[int]] | RowProblem] = []
        for row in rows:
            tokens, mask = list(self._begin), [0] * len(self._begin)
            for _, learned in row:
                ids = next(encoded)
                tokens += ids
                mask += [int(learned)] * len(ids)
            cut = mask[: self.max_length]
            # The first token is given, not predicted.
            if not any(cut[1:]):
                results.append(RowProblem("nothing_to_learn", f"{len(tokens)} > {self.max_length}"))
            else:
                results.append((tokens[: self.max_length], cut))
        return results
