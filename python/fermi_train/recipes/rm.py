"""Reward model: learns which of two answers people prefer, and gives each a number."""

from __future__ import annotations

from typing import Any

from ..environment import Place
from ..models.dropout import without_dropout
from ..models.sources import check_length, check_vocabulary
from ..reading import File
from . import obeyed
from .pairs import of_pairs
from .with_trl import rows_of, run_trl, whole_checkpoints


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    from transformers import AutoModelForSequenceClassification
    from trl import RewardConfig, RewardTrainer

    run, own = obeyed.reward(file)
    tokenizer = run.source.tokenizer()
    rows = rows_of(run, tokenizer)
    model = run.source.load(AutoModelForSequenceClassification, run.seed, num_labels=1)
    check_vocabulary(model, tokenizer)
    check_length(model, run.max_length)
    model.config.pad_token_id = tokenizer.pad_token_id

    def make(arguments: dict[str, Any], given: dict[str, Any]) -> Any:
        return whole_checkpoints(of_pairs(RewardTrainer, rows, run.data.cache))(
            model=without_dropout(model),
            args=RewardConfig(**arguments, **own, max_length=run.max_length, disable_dropout=True),
            peft_config=run.lora.peft_config("SEQ_CLS") if run.lora else None,
            **given,
        )

    return run_trl(run, place, make, rows, tokenizer)
