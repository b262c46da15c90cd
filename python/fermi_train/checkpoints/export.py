"""The trained model as a folder that `from_pretrained` loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..folders import replaced

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from ..strategies.base import Strategy


def export(strategy: Strategy, tokenizer: PreTrainedTokenizerBase, folder: Path) -> Path:
    """Gathers the weights and lets rank 0 write them, whole or not at all; all ranks call it."""
    weights = strategy.whole_weights()
    if weights is not None:
        write(strategy.bare, weights, tokenizer, folder)
    strategy.world.barrier()
    return folder


def write(model: Any, weights: dict[str, Any], tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Writes a model and its tokenizer."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    with replaced(folder) as draft:
        model.save_pretrained(draft, state_dict=weights)
        tokenizer.save_pretrained(draft)
