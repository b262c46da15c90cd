"""Direct preference optimisation: the model itself learns preferences, held near where it began."""

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
    from transformers import AutoModelForCausalLM
    from trl import DPOConfig, DPOTrainer

    run, own = obeyed.dpo(file)
    tokenizer = run.source.tokenizer()
    rows = rows_of(run, tokenizer)
    model = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(model, tokenizer)
    check_length(model, run.max_length)
    # With LoRA the reference is the model without its small matrices; a second copy is not needed.
    reference = None if run.lora else run.source.load(AutoModelForCausalLM, run.seed)

    def make(arguments: dict[str, Any], given: dict[str, Any]) -> Any:
        return whole_checkpoints(of_pairs(DPOTrainer, rows, run.data.cache))(
            model=without_dropout(model),
            ref_model=reference,
            args=DPOConfig(**arguments, **own, max_length=run.max_length, disable_dropout=True),
            peft_config=run.lora.peft_config("CAUSAL_LM") if run.lora else None,
            **given,
        )

    return run_trl(run, place, make, rows, tokenizer)
